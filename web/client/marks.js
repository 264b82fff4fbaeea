// SPDX-License-Identifier: Apache-2.0
// The received and read marks of one room. No dependencies.

/** Interval in milliseconds: the client sends one receipt for all messages of a room in it. */
const interval = 250

/** The marks of a room, received and read: the newest seq, and the newest seq that was sent to the relay. */
export class Marks {
  #link
  #isReady
  #room
  #received = { newest: 0, sent: 0 }
  #read = { newest: 0, sent: 0 }
  #timer = 0

  constructor(link, room, isReady) {
    this.#link = link
    this.#room = room
    this.#isReady = isReady
  }

  received(seq) {
    this.#received.newest = Math.max(this.#received.newest, seq)
    this.#schedule()
  }

  read(seq) {
    this.#read.newest = Math.max(this.#read.newest, seq)
    this.#send('read', this.#read)
  }

  /** Sends the marks that the relay has missed. `read` is the relay's mark after a join. */
  joined(read) {
    this.#read.sent = read
    this.#send('read', this.#read)
    this.#schedule()
  }

  stop() {
    this.#link.clock.clearTimeout(this.#timer)
    this.#timer = 0
  }

  /** Forgets the marks after a reset of the room. */
  reset() {
    this.stop()
    this.#received = { newest: 0, sent: 0 }
    this.#read = { newest: 0, sent: 0 }
  }

  #schedule() {
    if (this.#timer || !this.#isReady() || this.#received.newest <= this.#received.sent) return
    this.#timer = this.#link.clock.setTimeout(() => {
      this.#timer = 0
      this.#send('received', this.#received)
    }, interval)
  }

  #send(type, mark) {
    if (mark.newest <= mark.sent || !this.#isReady()) return
    mark.sent = mark.newest
    this.#link.notify(type, { room: this.#room, seq: mark.newest })
  }
}
