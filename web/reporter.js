// SPDX-License-Identifier: Apache-2.0
import { StillwireError } from './error.js'

/**
 * Reports of one device over HTTP, without a session: for a service worker, and for an app that is not connected.
 *
 * It authenticates with the device's report key: `reportKey` of the reply to `device`. The key does not expire. Each
 * call resolves with the relay's reply, and throws a `StillwireError` in the relay's words.
 */
export class Reporter {
  #url
  #key
  #fetch
  #now
  #lastNumber = 0

  /** `url` is that of the relay's sessions, or any other of the relay's origin. */
  constructor(url, reportKey, { fetch = globalThis.fetch, now = Date.now } = {}) {
    this.#url = String(new URL(url)).replace(/^ws/, 'http')
    this.#key = reportKey
    this.#fetch = fetch
    this.#now = now
  }

  /** Reports this device's Focus: true, false, or null for unknown. */
  focus(isFocused, fields = {}) {
    return this.#call('PUT', 'users/me/focus', { isFocused, number: this.#number(), ...fields })
  }

  /** Reports the filter of this device's Focus: {`active`, `allow?`}. */
  filter(fields) {
    return this.#call('PUT', 'users/me/filter', { number: this.#number(), ...fields })
  }

  /** Reports the action that the person chose on a notification: {`action`, `text?`, `key?`}. */
  respond(notification, fields) {
    return this.#call('POST', `notifications/${encodeURIComponent(notification)}/responses`, fields)
  }

  /** Confirms that a push has arrived on this device. */
  received(notification) {
    return this.#call('POST', `notifications/${encodeURIComponent(notification)}/received`, {})
  }

  // The relay ignores a report whose number is not above the last one. The clock keeps it rising over restarts.
  #number() {
    return (this.#lastNumber = Math.max(this.#lastNumber + 1, this.#now()))
  }

  async #call(method, path, body) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.#key}` }
    const url = new URL(`/v1/${path}`, this.#url)
    const fetch = this.#fetch
    const sent = fetch(url, { method, headers, body: JSON.stringify(body), keepalive: true })
    const response = await sent.catch(() => {
      throw new StillwireError({ code: 'unreachable', message: 'the relay does not answer', temporary: true })
    })
    const reply = await response.json().catch(() => null)
    if (response.ok) return reply
    const { code = 'unreachable', detail = `the answer was HTTP status ${response.status}`, retryAfter } = reply ?? {}
    const temporary = response.status === 429 || response.status >= 500
    throw new StillwireError({ code, message: detail, temporary, retryAfter })
  }
}
