// SPDX-License-Identifier: Apache-2.0
// The joins of a client: few at once, and first those of the rooms in use. No dependencies.

/** Maximum number of joins without a reply. On a slow line, the replies to more of them would delay all rooms. */
const maxJoins = 4

/** The rooms that wait for their join. The room with the highest `priority` comes first, then the one used last. */
export class JoinQueue {
  #send
  #waiting = new Set()
  #unanswered = 0
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
        if (isClosed) this.#waiting.clear()
        this.#next()
      })
    }
  }
}
