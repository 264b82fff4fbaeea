// SPDX-License-Identifier: Apache-2.0
import { StillwireError, closed } from './error.js'

/** Milliseconds that a send may be repeated for; the relay remembers its key for five minutes. */
const certainty = 240_000

/**
 * The sends of a room: one is under way at a time, so that their order holds even when the relay refuses one for a
 * while; each is repeated with its key until there is an answer.
 */
export class Outbox {
  #link
  #isReady
  #answered
  #waiting = []
  #underWay = null
  #pause = 0

  /** `isReady` says whether the room is joined; `answered` is called when nothing is unanswered any more. */
  constructor(link, isReady, answered) {
    this.#link = link
    this.#isReady = isReady
    this.#answered = answered
  }

  get isUnanswered() {
    return this.#underWay !== null
  }

  /** `accepted(reply)` is called before the promise that is returned resolves with the reply. */
  add(fields, accepted, signal) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      if (!this.#link.reserve()) throw full()
      const keyed = { ...fields, key: fields.key ?? newKey() }
      const send = { fields: keyed, attempt: 0, sentAt: undefined, accepted, resolve, reject }
      this.#waiting.push(send)
      const withdraw = () => this.#withdraw(send, signal.reason)
      signal?.addEventListener('abort', withdraw)
      send.end = () => signal?.removeEventListener('abort', withdraw)
      this.flush()
    })
  }

  /** Sends the next one, if it can be. */
  flush() {
    if (this.#underWay || this.#pause || this.#waiting.length === 0 || !this.#isReady()) return
    const send = this.#waiting[0]
    const { clock } = this.#link
    const isFirst = send.sentAt === undefined
    if (!isFirst && clock.now() - send.sentAt >= certainty) {
      this.#settle(send, 'reject', new StillwireError({ code: 'uncertain', message: 'it may have been sent' }))
      return this.flush()
    }
    this.#underWay = send
    send.sentAt ??= clock.now()
    this.#link.ask('send', send.fields, (error, reply) => {
      if (this.#underWay !== send) return
      this.#underWay = null
      if (error?.code === 'closed') return
      if (error?.code === 'timeout') return this.flush()
      if (error?.isTemporary) {
        if (isFirst) send.sentAt = undefined
        this.#wait(this.#link.delay(send.attempt++, error.retryAfter))
      } else if (error) {
        this.#settle(send, 'reject', error)
      } else {
        send.accepted(reply)
        this.#settle(send, 'resolve', reply)
      }
      this.#answered()
      this.flush()
    })
  }

  /** The connection ended, or the room is being joined again: what was under way is unanswered. */
  stop() {
    this.#underWay = null
    this.#link.clock.clearTimeout(this.#pause)
    this.#pause = 0
  }

  /** Nothing that waits can be sent any more. */
  fail() {
    this.stop()
    for (const send of [...this.#waiting]) this.#settle(send, 'reject', closed())
  }

  #wait(delay) {
    this.#pause = this.#link.clock.setTimeout(() => {
      this.#pause = 0
      this.flush()
    }, delay)
  }

  // What is under way cannot be called back; its outcome is nobody's business any more.
  #withdraw(send, reason) {
    send.reject(reason)
    if (send !== this.#underWay) this.#settle(send, 'reject', reason)
  }

  #settle(send, how, outcome) {
    const at = this.#waiting.indexOf(send)
    if (at < 0) return
    this.#waiting.splice(at, 1)
    this.#link.release()
    send.end()
    send[how](outcome)
  }
}

function full() {
  return new StillwireError({ code: 'full', message: 'too many sends wait', temporary: true })
}

// Unique among the user's keys of five minutes, which is all that is asked; Debian 12's Node has no global `crypto`.
function newKey() {
  const random = () => Math.random().toString(36).slice(2)
  return `${Date.now().toString(36)}-${random()}${random()}`
}
