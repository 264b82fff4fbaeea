// SPDX-License-Identifier: Apache-2.0

/** A clock for the client that stands still until it is moved; its timers are called in the order of their times. */
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

  /** How many timers have not been called yet. */
  get pending() {
    return this.#timers.size
  }

  /** Moves the time by so many milliseconds; `settle` is awaited after each timer, as it may lead to others. */
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
