// SPDX-License-Identifier: Apache-2.0

/** Milliseconds in which the receipts of a room become one. */
const interval = 250

/** How far a room was received and read, and how much of that the relay was told. */
export class Marks {
  #link
  #isReady
  #room
  #received = { newest: 0, told: 0 }
  #read = { newest: 0, told: 0 }
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
    this.#tell('read', this.#read)
  }

  /** The room was joined; the relay's `read` counts. */
  joined(read) {
    this.#read.told = read
    this.#tell('read', this.#read)
    this.#schedule()
  }

  stop() {
    this.#link.clock.clearTimeout(this.#timer)
    this.#timer = 0
  }

  /** What the marks were of is no more. */
  reset() {
    this.stop()
    this.#received = { newest: 0, told: 0 }
    this.#read = { newest: 0, told: 0 }
  }

  #schedule() {
    if (this.#timer || !this.#isReady() || this.#received.newest <= this.#received.told) return
    this.#timer = this.#link.clock.setTimeout(() => {
      this.#timer = 0
      this.#tell('received', this.#received)
    }, interval)
  }

  #tell(type, mark) {
    if (mark.newest <= mark.told || !this.#isReady()) return
    mark.told = mark.newest
    this.#link.tell(type, { room: this.#room, seq: mark.newest })
  }
}
