// SPDX-License-Identifier: Apache-2.0

/**
 * An iteration over messages that keeps at most `limit` which were not taken. Beyond, the oldest are lost, and the first
 * that is left has `isAfterGap`.
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

  /** No more will come; `error`, if any, is thrown behind what was kept. */
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

  // An error is thrown once; an iteration that has thrown is over.
  #finish({ resolve, reject }) {
    const { error } = this.#end
    this.#end = {}
    if (error) reject(error)
    else resolve({ value: undefined, done: true })
  }
}
