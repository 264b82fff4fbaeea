// SPDX-License-Identifier: Apache-2.0
import { StillwireError } from './error.js'

/**
 * The numbers of a device's reports of one type. The relay applies a report if its number is above the last one. The
 * wall clock makes the numbers increase across restarts and across several tabs of one person.
 *
 * A step of the wall clock must not decide if a report is the newest. The numbers of other tabs are therefore compared
 * with the number of the report, and with the time since it was made.
 */
export class ReportNumbers {
  #last = 0
  /** Returns the milliseconds since the last number was made. */
  #age
  #now
  #stopwatch

  /**
   * `now` returns the wall-clock time in milliseconds. `stopwatch` returns a function that returns the milliseconds
   * since the call of `stopwatch`, by a monotonic clock.
   */
  constructor(now, stopwatch = monotonic) {
    this.#now = now
    this.#stopwatch = stopwatch
  }

  next() {
    this.#age = this.#stopwatch()
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
    // A report that another tab has made since has a number up to this one. The clocks count whole milliseconds.
    const newest = sent + Math.floor(this.#age()) + 1
    // A higher stored number comes from a report that this device sent while its clock was ahead.
    if (sent !== this.#last || (sent < stored && stored <= newest)) throw replaced()
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

function monotonic() {
  const start = performance.now()
  return () => performance.now() - start
}

export function replaced() {
  return new StillwireError({ code: 'replaced', message: 'a newer report replaced it' })
}
