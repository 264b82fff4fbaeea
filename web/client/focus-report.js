// SPDX-License-Identifier: Apache-2.0
import { StillwireError, closed } from './error.js'
import { nextReportNumber } from './report-number.js'

/** The newest Focus report. The client sends it at each welcome until the relay has answered it. */
export class FocusReport {
  #link
  #report = null
  #lastNumber = 0
  #attempt = 0
  #retry = 0

  constructor(link) {
    this.#link = link
  }

  set(isFocused, fields) {
    const at = this.#link.clock.now()
    this.#lastNumber = nextReportNumber(this.#lastNumber, at)
    this.#settle('reject', new StillwireError({ code: 'replaced', message: 'a newer report replaced it' }))
    return new Promise((resolve, reject) => {
      this.#report = { fields: { isFocused, at, number: this.#lastNumber, ...fields }, resolve, reject }
      this.send()
    })
  }

  send() {
    this.stop()
    const report = this.#report
    if (!report) return
    this.#link.ask('focus', report.fields, (error, reply) => {
      if (report !== this.#report || error?.code === 'closed') return
      if (!error) this.#settle('resolve', reply)
      else if (!error.isTemporary) this.#settle('reject', error)
      else this.#again(error)
    })
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
