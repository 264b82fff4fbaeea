// SPDX-License-Identifier: Apache-2.0
import { nextReportNumber } from '../client/report-number.js'
import { allowedLabels, isFocusedFor, ownLabel } from './focus.js'

/** What the relay takes for granted of a phone that has told nothing. */
const untold = { focus: '{"isFocused":false}', filter: '{"active":false}', label: 'null' }

/**
 * What a phone's extensions tell the relay of its Focus, each in one call over HTTP and only when it differs from what
 * was told last.
 */
export class PhoneReports {
  /** What was told last; it should outlive a reload, as the relay's knowledge does. */
  told
  #device
  #room
  #put
  #number = 0
  /** What is to be told, and the telling of it. */
  #wanted = null
  #telling = null

  /** `put(what, body)` calls `PUT /v1/users/{user}/{what}`. */
  constructor(device, room, put, told = untold) {
    this.#device = device
    this.#room = room
    this.#put = put
    this.told = told
  }

  /** Resolves when the newest wish is told; a later one takes the place of one that was not yet begun. */
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
    await this.#once('focus', own, () => this.#put('focus', { ...own, ...this.#origin(), source: 'intent' }))
    const allow = allowedLabels(focus)
    const filter = allow ? { active: true, allow } : { active: false }
    await this.#once('filter', filter, () => this.#put('filter', { ...filter, ...this.#origin() }))
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

  #origin() {
    this.#number = nextReportNumber(this.#number, Date.now())
    return { device: this.#device, number: this.#number }
  }
}
