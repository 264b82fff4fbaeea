// SPDX-License-Identifier: Apache-2.0
import { call, segment } from './api.js'
import { isSettled } from './trace.js'

const interval = 700
const slowInterval = 4_000

/**
 * Asks the relay what becomes of messages, as any operator may: what it decides when a message is taken (a dry run),
 * and then what its queue says of the pushes, until there is nothing more to learn.
 */
export class PushWatch {
  #room
  #told
  #traces
  #timer = 0
  #failures = 0
  #isAsking = false

  /** `traces()` are those that are shown; `told` is called with each input for them. */
  constructor(room, traces, told) {
    this.#room = room
    this.#traces = traces
    this.#told = told
  }

  async decide({ seq, from, push, user }) {
    const { kind, level } = push ?? {}
    const body = { room: this.#room, from, user, push: { kind, level } }
    const { devices } = await call('POST', 'v1/decisions', { body })
    const { decision, facts } = devices.find(({ device }) => device === 'phone') ?? devices[0]
    this.#told({ type: 'decided', seq, user, decision, facts })
    this.look()
  }

  async lint({ seq, user, payload, headers }) {
    const { findings } = await call('POST', 'v1/pushes/lint', { body: { payload, headers } })
    this.#told({ type: 'linted', seq, user, findings })
  }

  /** Looks into the queue soon, and again for as long as something is under way. */
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

  /** Whose pushes may change, and whether that will take its time. */
  #pending() {
    if (document.hidden) return []
    const now = Date.now()
    return this.#traces().flatMap(({ time, ends }) =>
      Object.entries(ends)
        .filter(([, end]) => !isSettled(end, now - time))
        .map(([user, { push }]) => ({ user, isSlow: push ? push.state === 'held' : now - time > 10 * interval }))
    )
  }

  async #askAll() {
    for (const user of new Set(this.#pending().map(({ user }) => user))) {
      const { pushes } = await call('GET', `v1/pushes?limit=30&user=${segment(user)}`)
      for (const push of pushes.reverse()) if (push.room === this.#room) await this.#note(user, push)
    }
  }

  async #note(user, push) {
    const { seq } = push
    const end = this.#traces().find((trace) => trace.seq === seq)?.ends[user]
    if (!end) return
    const isNew = end.push?.id !== push.id || end.push.state !== push.state
    if (isNew || end.push.attempts.length !== push.attempts.length) this.#told({ type: 'pushed', seq, user, push })
    if (!isNew) return
    const { explanation } = await call('GET', `v1/pushes/${push.id}`)
    if (explanation) this.#told({ type: 'decided', seq, user, ...explanation })
  }
}
