// SPDX-License-Identifier: Apache-2.0
// The joins of a client: few at once, and first those of the rooms in use. No dependencies.

/** Maximum number of joins without a reply. On a slow line, the replies to more of them would delay all rooms. */
const maxJoins = 4
/** The bytes of messages in the first replies, and the maximum. On a slow line, larger replies would delay all rooms. */
const minPage = 16_384
const maxPage = 262_144
/** Time in milliseconds. After a page that took less, the next one is twice as large. */
const quick = 1000

/** The rooms that wait for their join. The room with the highest `priority` comes first, then the one used last. */
export class JoinQueue {
  #send
  #waiting = new Set()
  #unanswered = 0
  #page = minPage
  #uses = new WeakMap()
  #count = 0

  /** `send(room, done)` sends a join, and calls `done` once at its end, with true if the connection has ended. */
  constructor(send) {
    this.#send = send
  }

  /** Notes that the app uses the room. */
  used(room) {
    this.#uses.set(room, ++this.#count)
  }

  /** The maximum size of the messages in a reply, in bytes. */
  get maxBytes() {
    return this.#page
  }

  /** Notes the time that a reply with the maximum of messages took, in milliseconds. */
  took(time) {
    this.#page = time < quick ? Math.min(2 * this.#page, maxPage) : Math.max(this.#page / 2, minPage)
  }

  add(...rooms) {
    for (const room of rooms) this.#waiting.add(room)
    this.#next()
  }

  remove(room) {
    this.#waiting.delete(room)
  }

  #next() {
    const rank = (a, b) => b.priority - a.priority || this.#uses.get(b) - this.#uses.get(a)
    while (this.#waiting.size > 0 && this.#unanswered < maxJoins) {
      const [room] = [...this.#waiting].sort(rank)
      this.#waiting.delete(room)
      this.#unanswered += 1
      this.#send(room, (isClosed) => {
        this.#unanswered -= 1
        if (isClosed) {
          this.#waiting.clear()
          this.#page = minPage
        }
        this.#next()
      })
    }
  }
}
