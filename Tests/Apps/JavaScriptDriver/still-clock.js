// SPDX-License-Identifier: Apache-2.0

/** A clock for the client that only the test advances. It calls its timers in the order of their times. */
export class StillClock {
  #now = 1_800_000_000_000
  #timers = new Map()
  #lastID = 0

  now = () => this.#now

  setTimeout = (act, delay) => {
    this.#timers.set(++this.#lastID, { act, at: this.#now + Math.max(0, delay) })
    return this.#lastID
  }

  clearTimeout = (id) => {
    this.#timers.delete(id)
  }

  /** The number of timers that have not been called yet. */
  get pending() {
    return this.#timers.size
  }

  /** Advances the time, in milliseconds. Awaits `settle` after each timer, because a timer can start others. */
  async advance(by, settle) {
    const end = this.#now + by
    for (;;) {
      const [next] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)
      if (!next) break
      const [id, { act, at }] = next
      this.#timers.delete(id)
      this.#now = at
      act()
      await settle()
    }
    this.#now = end
  }
}
