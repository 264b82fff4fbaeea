// SPDX-License-Identifier: Apache-2.0
import { StillwireError } from './error.js'

/**
 * The numbers of a device's reports of one type. The relay applies a report if its number is above the last one. The
 * wall clock makes the numbers increase across restarts and across several tabs of one person.
 */
export class ReportNumbers {
  #last = 0
  #now

  /** `now` returns the wall-clock time in milliseconds. */
  constructor(now) {
    this.#now = now
  }

  next() {
    return (this.#last = Math.max(this.#last + 1, this.#now()))
  }

  /**
   * Returns undefined if the relay has the report with the number `sent`, otherwise the higher number for its
   * repetition. Throws `replaced` after a newer report, and `not_applied` if the report cannot be repeated.
   * `isLast`: no further repetition is allowed.
   */
  after({ applied, number: stored }, sent, isLast) {
    if (applied !== false || stored === sent) return undefined
    if (isLast || !Number.isSafeInteger(stored)) {
      throw new StillwireError({ code: 'not_applied', message: 'the relay has not applied the report' })
    }
    // A stored number above the present time comes from a report that this device sent while its clock was ahead.
    if (sent !== this.#last || (sent < stored && stored <= this.#now())) throw replaced()
    return (this.#last = Math.max(sent, stored) + 1)
  }

  /**
   * Sends a report, and repeats it once with a higher number if the stored number comes from a clock that was ahead. If
   * the app chose the number (`fields.number`), does not repeat it. `send(fields)` resolves with the relay's reply.
   */
  async report(fields, send) {
    let number = fields.number ?? this.next()
    for (let isLast = fields.number !== undefined; ; isLast = true) {
      const reply = await send({ ...fields, number })
      const next = this.after(reply, number, isLast)
      if (next === undefined) return { ...reply, applied: true }
      number = next
    }
  }
}

export function replaced() {
  return new StillwireError({ code: 'replaced', message: 'a newer report replaced it' })
}
