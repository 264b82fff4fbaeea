// SPDX-License-Identifier: Apache-2.0
import { call, segment } from './api.js'
import { isSettled, traceOf } from './trace.js'

const interval = 700
const slowInterval = 4_000

/**
 * Requests the relay's decisions and push jobs over HTTP, as an operator can. For each message it requests a dry run of
 * the decision. Then it polls the push queue until all jobs are finished.
 */
export class PushWatch {
  #notify
  #traces
  #timer = 0
  #failures = 0
  #isAsking = false

  /** `traces()` returns the visible traces. `notify` is called with each input for them. */
  constructor(traces, notify) {
    this.#traces = traces
    this.#notify = notify
  }

  async decide({ room, seq, from, push, user }) {
    const { kind, level } = push ?? {}
    const body = { room, from, user, push: { kind, level } }
    const { devices } = await call('POST', 'v1/decisions', { body })
    const { decision, facts } = devices.find(({ device }) => device === 'phone') ?? devices[0]
    const type = facts.recipient.isMember ? 'decided' : 'excluded'
    this.#notify({ type, room, seq, user, decision, facts })
    this.look()
  }

  async lint({ room, seq, user, payload, headers }) {
    const { findings } = await call('POST', 'v1/pushes/lint', { body: { payload, headers } })
    this.#notify({ type: 'linted', room, seq, user, findings })
  }

  /** Requests the queue after a delay, and again while jobs are pending. */
  look(delay = interval) {
    if (this.#isAsking) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(async () => {
      this.#isAsking = true
      try {
        await this.#askAll()
        this.#failures = 0
      } catch {
        this.#failures += 1
      }
      this.#isAsking = false
      const pending = this.#pending()
      const isSlow = this.#failures > 0 || pending.every(({ isSlow }) => isSlow)
      if (pending.length > 0) this.look(isSlow ? slowInterval : interval)
    }, delay)
  }

  /** The users whose pushes can still change. `isSlow` is true if a change will take some time. */
  #pending() {
    if (document.hidden) return []
    const now = performance.now()
    return this.#traces().flatMap(({ time, ends }) =>
      Object.entries(ends)
        .filter(([, end]) => !isSettled(end, now - time))
        .map(([user, { push }]) => ({ user, isSlow: push ? push.state === 'held' : now - time > 10 * interval }))
    )
  }

  async #askAll() {
    for (const user of new Set(this.#pending().map(({ user }) => user))) {
      const { pushes } = await call('GET', `v1/pushes?limit=30&user=${segment(user)}`)
      // The view follows a person's own phone, and no other device with the account.
      for (const push of pushes.reverse()) if (push.device === 'phone') await this.#note(user, push)
    }
  }

  async #note(user, push) {
    const { room, seq } = push
    const end = traceOf(this.#traces(), push)?.ends[user]
    if (!end) return
    const isNew = end.push?.id !== push.id || end.push.state !== push.state
    if (isNew || end.push.attempts.length !== push.attempts.length) this.#notify({ type: 'pushed', room, seq, user, push })
    if (!isNew) return
    const { explanation } = await call('GET', `v1/pushes/${push.id}`)
    if (explanation) this.#notify({ type: 'decided', room, seq, user, ...explanation })
  }
}
