// SPDX-License-Identifier: Apache-2.0

/**
 * An async iterator over messages. It buffers at most `limit` messages. Beyond that the oldest are lost, and the first
 * remaining message has `isAfterGap`.
 */
export class Messages {
  #limit
  #kept = []
  #takers = []
  #end = null
  #onReturn

  constructor(limit, onReturn) {
    if (!(limit >= 1)) throw new RangeError('limit must be at least 1')
    this.#limit = limit
    this.#onReturn = onReturn
  }

  push(message) {
    const taker = this.#takers.shift()
    if (taker) return taker.resolve({ value: message, done: false })
    this.#kept.push(message)
    if (this.#kept.length <= this.#limit) return
    this.#kept.shift()
    this.#kept[0] = { ...this.#kept[0], isAfterGap: true }
  }

  /** Ends the iteration after the buffered messages. If `error` is given, the iterator then throws it. */
  finish(error) {
    if (this.#end) return
    this.#end = { error }
    for (const taker of this.#takers.splice(0)) this.#finish(taker)
  }

  next() {
    return new Promise((resolve, reject) => {
      if (this.#kept.length > 0) resolve({ value: this.#kept.shift(), done: false })
      else if (this.#end) this.#finish({ resolve, reject })
      else this.#takers.push({ resolve, reject })
    })
  }

  async return() {
    this.#kept = []
    this.finish()
    this.#onReturn(this)
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator]() {
    return this
  }

  // The iterator throws the error once. After that it is done.
  #finish({ resolve, reject }) {
    const { error } = this.#end
    this.#end = {}
    if (error) reject(error)
    else resolve({ value: undefined, done: true })
  }
}
