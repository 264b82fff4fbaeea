// SPDX-License-Identifier: Apache-2.0

/** A clock for the client that only the test advances. It calls its timers in the order of their times. */
export class StillClock {
  #elapsed = 0
  /** The wall-clock time at the start. */
  #start = 1_800_000_000_000
  #timers = new Map()
  #lastID = 0

  now = () => this.#start + this.#elapsed

  elapsed = () => this.#elapsed

  setTimeout = (act, delay) => {
    this.#timers.set(++this.#lastID, { act, at: this.#elapsed + Math.max(0, delay) })
    return this.#lastID
  }

  clearTimeout = (id) => {
    this.#timers.delete(id)
  }

  /** The number of timers that have not been called yet. */
  get pending() {
    return this.#timers.size
  }

  /** Sets the wall clock ahead or back, in milliseconds. No time passes. */
  step(by) {
    this.#start += by
  }

  /** Advances the time, in milliseconds. Awaits `settle` after each timer, because a timer can start others. */
  async advance(by, settle) {
    const end = this.#elapsed + by
    for (;;) {
      const [next] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)
      if (!next) break
      const [id, { act, at }] = next
      this.#timers.delete(id)
      this.#elapsed = at
      act()
      await settle()
    }
    this.#elapsed = end
  }
}
