// SPDX-License-Identifier: Apache-2.0
import { Addresses } from './addresses.js'
import { StillwireError } from './error.js'
import { isStandby, leaderIn } from './handshake.js'
import { ReportNumbers } from './report-number.js'

/** Timeout of each of several addresses, in milliseconds. */
const limit = 5_000

/**
 * Reports of one device over HTTP, without a session: for a service worker, and for an app that is not connected.
 *
 * It authenticates with the device's report key: `reportKey` of the reply to `device`. The key does not expire. Each
 * call resolves with the relay's reply. Otherwise it rejects with a `StillwireError` that has the relay's code and
 * message, or the code `unreachable` (no answer) or `bad_answer` (an answer that is not the relay's).
 *
 * With several addresses each call tries them until one answers as the leader: first the last leader, and immediately
 * the leader that a node names. The relay accepts a repeated report. The reporter follows no redirect, because the key
 * must reach only the given addresses.
 */
export class Reporter {
  #addresses
  #key
  #fetch
  /** The numbers of the reports of each type. */
  #numbers

  /** `urls` is any URL of the relay, or one for each node of a cluster. The reporter uses only their origins. */
  constructor(urls, reportKey, { fetch = globalThis.fetch, now = Date.now } = {}) {
    this.#addresses = new Addresses(urls)
    this.#key = reportKey
    this.#fetch = fetch
    this.#numbers = { focus: new ReportNumbers(now), filter: new ReportNumbers(now) }
  }

  /** Reports this device's Focus: true, false, or null for unknown. */
  focus(isFocused, fields = {}) {
    return this.#report('focus', { isFocused, ...fields })
  }

  /** Reports the filter of this device's Focus: {`active`, `allow?`}. */
  filter(fields) {
    return this.#report('filter', fields)
  }

  /** Reports the action that the person chose on a notification: {`action`, `text?`, `key?`}. */
  respond(notification, fields) {
    return this.#call('POST', `notifications/${encodeURIComponent(notification)}/responses`, fields)
  }

  /** Confirms that a push has arrived on this device. */
  received(notification) {
    return this.#call('POST', `notifications/${encodeURIComponent(notification)}/received`, {})
  }

  #report(type, fields) {
    return this.#numbers[type].report(fields, (body) => this.#call('PUT', `users/me/${type}`, body))
  }

  async #call(method, path, body) {
    const round = this.#addresses.round()
    for (;;) {
      const { reply, error, isElsewhere, ...answer } = await this.#ask(round.url, method, path, body)
      if (!isElsewhere) round.succeeded()
      if (reply) return reply
      if (error.code === 'unreachable') round.avoid()
      if (!isElsewhere || !round.next(answer.leader, answer.isStandby)) throw error
    }
  }

  // Resolves with the reply or the error. `isElsewhere` is true if the leader may be another node.
  async #ask(address, method, path, body) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.#key}` }
    const url = new URL(`/v1/${path}`, address.replace(/^ws/, 'http'))
    const signal = this.#addresses.areSeveral ? AbortSignal.timeout(limit) : undefined
    const options = { method, headers, body: JSON.stringify(body), keepalive: true, redirect: 'manual', signal }
    // A browser's fetch throws "Illegal invocation" when it is called as a method of another object.
    const fetch = this.#fetch
    const response = await fetch(url, options).catch(() => null)
    if (!response) {
      const error = new StillwireError({ code: 'unreachable', message: 'the relay does not answer', temporary: true })
      return { error, isElsewhere: true }
    }
    const reply = await response.json().catch(() => null)
    if (response.ok && reply) return { reply }
    // A browser hides a redirect that it does not follow.
    const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)
    const answer = isRedirect ? 'the answer was a redirect' : `the answer was HTTP status ${response.status}`
    const { code = 'bad_answer', detail = answer, retryAfter } = reply ?? {}
    // A redirect is that of a standby node, so the leader may answer later.
    const temporary = isRedirect || response.status === 429 || response.status >= 500
    const error = new StillwireError({ code, message: detail, temporary, retryAfter })
    const isElsewhere = isRedirect || response.status === 503
    return { error, isElsewhere, isStandby: isStandby(response, reply), leader: leaderIn(response, reply) }
  }
}
