// SPDX-License-Identifier: Apache-2.0
// The messages of one room that wait to be sent. Depends on error.js.
import { StillwireError, closed } from './error.js'

/** Age in milliseconds up to which a send may be repeated. The relay remembers its key for five minutes. */
const certainty = 240_000

/**
 * The outbox of a room. It sends one message at a time, so that a temporary refusal does not change the order. It
 * repeats each message with its key until the relay answers.
 */
export class Outbox {
  #link
  #isReady
  #answered
  #waiting = []
  #underWay = null
  #pause = 0

  /** `isReady` returns true if the room is joined. `answered` is called after the reply to a send. */
  constructor(link, isReady, answered) {
    this.#link = link
    this.#isReady = isReady
    this.#answered = answered
  }

  get isUnanswered() {
    return this.#underWay !== null
  }

  /** Queues a message. Calls `accepted(reply)` before the returned promise resolves with the reply. */
  add(fields, accepted, signal) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      if (!this.#link.reserve()) throw full()
      const keyed = { ...fields, key: fields.key ?? newKey() }
      const send = { fields: keyed, attempt: 0, age: undefined, accepted, resolve, reject }
      this.#waiting.push(send)
      const withdraw = () => this.#withdraw(send, signal.reason)
      signal?.addEventListener('abort', withdraw)
      send.end = () => signal?.removeEventListener('abort', withdraw)
      this.flush()
    })
  }

  /** Sends the next message, if the room is joined and no other message is pending. */
  flush() {
    if (this.#underWay || this.#pause || this.#waiting.length === 0 || !this.#isReady()) return
    const send = this.#waiting[0]
    const isFirst = send.age === undefined
    if (!isFirst && send.age() >= certainty) {
      this.#settle(send, 'reject', new StillwireError({ code: 'uncertain', message: 'the message may be stored' }))
      return this.flush()
    }
    this.#underWay = send
    send.age ??= this.#link.stopwatch()
    let isLate = false
    this.#link.ask('send', send.fields, (error, reply) => {
      // After a timeout the message was sent again. Its first reply counts, but a late refusal does not.
      if (this.#underWay !== send || (error && isLate)) return
      this.#underWay = null
      if (error?.code === 'closed') return
      if (error?.code === 'timeout') {
        isLate = true
        return this.flush()
      }
      if (error?.isTemporary) {
        if (isFirst) send.age = undefined
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

  /** Forgets the pending send, because the connection ended or the room is joined again. It will be sent again. */
  stop() {
    this.#underWay = null
    this.#link.clock.clearTimeout(this.#pause)
    this.#pause = 0
  }

  /** Rejects all waiting messages, because the client or the membership has ended. */
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

  // A pending send cannot be recalled. It stays in the queue until its reply, which is then ignored.
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
  return new StillwireError({ code: 'full', message: 'too many messages are waiting', temporary: true })
}

// The key must be unique among the user's keys of five minutes. Node 18 of Debian 12 has no global `crypto`.
function newKey() {
  const random = () => Math.random().toString(36).slice(2)
  return `${Date.now().toString(36)}-${random()}${random()}`
}
