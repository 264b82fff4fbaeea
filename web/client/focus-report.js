// SPDX-License-Identifier: Apache-2.0
import { closed } from './error.js'
import { ReportNumbers, replaced } from './report-number.js'

/** The newest Focus report. The client sends it at each welcome until the relay has answered it. */
export class FocusReport {
  #link
  #report = null
  #numbers
  #attempt = 0
  #retry = 0

  constructor(link) {
    this.#link = link
    this.#numbers = new ReportNumbers(() => link.clock.now(), link.stopwatch)
  }

  set(isFocused, fields) {
    const at = this.#link.clock.now()
    const number = this.#numbers.next()
    this.#settle('reject', replaced())
    return new Promise((resolve, reject) => {
      const isLast = fields.number !== undefined
      this.#report = { fields: { isFocused, at, number, ...fields }, isLast, resolve, reject }
      this.send()
    })
  }

  send() {
    this.stop()
    const report = this.#report
    if (!report) return
    const { fields } = report
    let isLate = false
    this.#link.ask('focus', fields, (error, reply) => {
      if (report !== this.#report || fields !== report.fields || error?.code === 'closed') return
      // After a timeout the report is sent again. Its first reply counts, but a late refusal does not.
      if (error && isLate) return
      isLate = error?.code === 'timeout'
      if (!error) this.#answered(report, reply)
      else if (!error.isTemporary) this.#settle('reject', error)
      else this.#again(error)
    })
  }

  #answered(report, reply) {
    const { fields, isLast } = report
    try {
      const number = this.#numbers.after(reply, fields.number, isLast)
      if (number === undefined) return this.#settle('resolve', { ...reply, applied: true })
      Object.assign(report, { fields: { ...fields, number }, isLast: true })
      this.send()
    } catch (error) {
      this.#settle('reject', error)
    }
  }

  stop() {
    this.#link.clock.clearTimeout(this.#retry)
  }

  fail() {
    this.stop()
    this.#settle('reject', closed())
  }

  #again({ retryAfter }) {
    this.#retry = this.#link.clock.setTimeout(() => this.send(), this.#link.delay(this.#attempt++, retryAfter))
  }

  #settle(how, outcome) {
    const report = this.#report
    this.#report = null
    this.#attempt = 0
    report?.[how](outcome)
  }
}
