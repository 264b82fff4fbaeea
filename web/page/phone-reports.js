// SPDX-License-Identifier: Apache-2.0
// Reports a phone's Focus to the relay.
import { ReportNumbers } from '../client/report-number.js'
import { allowedLabels, isFocusedFor, ownLabel } from './focus.js'

/** The values that the relay assumes for a phone that has reported nothing. */
const untold = { focus: '{"isFocused":false}', filter: '{"active":false}', label: 'null' }

/**
 * The reports of a phone's extensions about its Focus. Each report is one HTTP call, and is sent only if it differs
 * from the last one.
 */
export class PhoneReports {
  /** The last reports that the relay accepted. The caller keeps them across a reload of the page. */
  told
  #device
  #room
  #put
  #numbers = new ReportNumbers(Date.now)
  /** The newest Focus to report, and the promise of the report in progress. */
  #wanted = null
  #telling = null

  /** `put(what, body)` calls `PUT /v1/users/{user}/{what}`. */
  constructor(device, room, put, told = untold) {
    this.#device = device
    this.#room = room
    this.#put = put
    this.told = told
  }

  /** Resolves when the newest Focus is reported. A newer one replaces one whose report has not started. */
  tell(focus, isShared) {
    this.#wanted = { focus, isShared }
    this.#telling ??= this.#tellAll().finally(() => (this.#telling = null))
    return this.#telling
  }

  async #tellAll() {
    while (this.#wanted) {
      const { focus, isShared } = this.#wanted
      this.#wanted = null
      await this.#tellOne(focus, isShared)
    }
  }

  async #tellOne(focus, isShared) {
    const own = isShared ? { isFocused: isFocusedFor(focus) } : { isFocused: null, authorization: 'denied' }
    await this.#once('focus', own, () => this.#send('focus', { ...own, source: 'intent' }))
    const allow = allowedLabels(focus)
    const filter = allow ? { active: true, allow } : { active: false }
    await this.#once('filter', filter, () => this.#send('filter', filter))
    const criteria = ownLabel(focus)
    const rooms = { [this.#room]: criteria && { level: 'all', criteria } }
    await this.#once('label', criteria, () => this.#put('preferences', { rooms }))
  }

  async #once(name, value, tell) {
    const text = JSON.stringify(value)
    if (this.told[name] === text) return
    await tell()
    this.told = { ...this.told, [name]: text }
  }

  #send(type, fields) {
    return this.#numbers.report({ ...fields, device: this.#device }, (body) => this.#put(type, body))
  }
}
