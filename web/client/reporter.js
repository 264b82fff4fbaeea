// SPDX-License-Identifier: Apache-2.0
import { StillwireError } from './error.js'
import { nextReportNumber } from './report-number.js'

/**
 * Reports of one device over HTTP, without a session: for a service worker, and for an app that is not connected.
 *
 * It authenticates with the device's report key: `reportKey` of the reply to `device`. The key does not expire. Each
 * call resolves with the relay's reply. Otherwise it rejects with a `StillwireError` that has the relay's code and
 * message, or the code `unreachable` (no answer) or `bad_answer` (an answer that is not the relay's).
 */
export class Reporter {
  #url
  #key
  #fetch
  #now
  #lastNumber = 0

  /** `url` is any URL of the relay. The reporter uses only its origin. */
  constructor(url, reportKey, { fetch = globalThis.fetch, now = Date.now } = {}) {
    this.#url = String(new URL(url)).replace(/^ws/, 'http')
    this.#key = reportKey
    this.#fetch = fetch
    this.#now = now
  }

  /** Reports this device's Focus: true, false, or null for unknown. */
  focus(isFocused, fields = {}) {
    return this.#call('PUT', 'users/me/focus', { isFocused, number: this.#nextNumber(), ...fields })
  }

  /** Reports the filter of this device's Focus: {`active`, `allow?`}. */
  filter(fields) {
    return this.#call('PUT', 'users/me/filter', { number: this.#nextNumber(), ...fields })
  }

  /** Reports the action that the person chose on a notification: {`action`, `text?`, `key?`}. */
  respond(notification, fields) {
    return this.#call('POST', `notifications/${encodeURIComponent(notification)}/responses`, fields)
  }

  /** Confirms that a push has arrived on this device. */
  received(notification) {
    return this.#call('POST', `notifications/${encodeURIComponent(notification)}/received`, {})
  }

  #nextNumber() {
    return (this.#lastNumber = nextReportNumber(this.#lastNumber, this.#now()))
  }

  async #call(method, path, body) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.#key}` }
    const url = new URL(`/v1/${path}`, this.#url)
    // A browser's fetch throws "Illegal invocation" when it is called as a method of another object.
    const fetch = this.#fetch
    const sent = fetch(url, { method, headers, body: JSON.stringify(body), keepalive: true })
    const response = await sent.catch(() => {
      throw new StillwireError({ code: 'unreachable', message: 'the relay does not answer', temporary: true })
    })
    const reply = await response.json().catch(() => null)
    if (response.ok && reply) return reply
    const { code = 'bad_answer', detail = `the answer was HTTP status ${response.status}`, retryAfter } = reply ?? {}
    const temporary = response.status === 429 || response.status >= 500
    throw new StillwireError({ code, message: detail, temporary, retryAfter })
  }
}
