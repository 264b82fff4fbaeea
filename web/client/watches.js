// SPDX-License-Identifier: Apache-2.0
// The users that the app watches. No dependencies.

/** The number of users in one request. The relay's rate counts this number as one more request. */
const size = 32

/**
 * The users that the app watches, from its requests `watch` and `unwatch`. A watch ends with its session, so the client
 * requests it again after each welcome.
 */
export class Watches {
  #link
  #listener
  #users = new Set()
  /** The users of the app's requests without a reply. */
  #requested = new Set()
  /** The lists of users that the client must still watch again in this session. */
  #due = []
  #attempt = 0
  #retry = 0

  /**
   * `listener.received(frame)` is called for the presence of each user who is watched again, and
   * `listener.refused(error)` if the relay refuses to watch a user again. That user is then forgotten.
   */
  constructor(link, listener) {
    this.#link = link
    this.#listener = listener
  }

  /** Notes a request of the app. Returns a function to call with true if the relay has accepted the request. */
  requested(type, { users }) {
    if (!Array.isArray(users)) return () => {}
    if (type === 'unwatch') this.#forget(new Set(users))
    if (type !== 'watch') return () => {}
    const names = new Set(users)
    this.#requested.add(names)
    return (isAccepted) => {
      this.#requested.delete(names)
      if (isAccepted) for (const user of names) this.#users.add(user)
    }
  }

  /** Watches all users again, in a new session. */
  opened() {
    this.stop()
    const users = [...this.#users]
    for (let from = 0; from < users.length; from += size) this.#due.push(users.slice(from, from + size))
    this.#send()
  }

  /** Ends the work of a session that has ended. */
  stop() {
    this.#link.clock.clearTimeout(this.#retry)
    this.#due = []
    this.#attempt = 0
  }

  #send() {
    const due = this.#due
    while (due[0]?.length === 0) due.shift()
    if (due.length === 0) return
    const [list] = due
    let isLate = false
    this.#link.ask('watch', { users: list }, (error, reply) => {
      // The list may have been answered before: after a timeout the client requests it again.
      if (due !== this.#due || due[0] !== list || error?.code === 'closed') return
      if (error && isLate) return
      isLate = error?.code === 'timeout'
      this.#link.clock.clearTimeout(this.#retry)
      if (error?.isTemporary) return this.#again(error)
      const [users = []] = due.splice(0, 1)
      if (!error) this.#watched(users, reply)
      // The relay refuses the whole list if it refuses one of its users.
      else if (users.length > 1) due.unshift(...users.map((user) => [user]))
      else this.#refused(users, error)
      if (due === this.#due) this.#send()
    })
  }

  #watched(users, { presence }) {
    this.#attempt = 0
    for (const entry of Array.isArray(presence) ? presence : []) {
      if (users.includes(entry?.user)) this.#listener.received({ ...entry, type: 'presence' })
    }
  }

  #refused(users, error) {
    for (const user of users) {
      if (this.#users.delete(user)) this.#listener.refused(error)
    }
  }

  #again({ retryAfter }) {
    this.#retry = this.#link.clock.setTimeout(() => this.#send(), this.#link.delay(this.#attempt++, retryAfter))
  }

  #forget(users) {
    for (const user of users) {
      this.#users.delete(user)
      for (const names of this.#requested) names.delete(user)
    }
    for (const list of this.#due) list.splice(0, Infinity, ...list.filter((user) => !users.has(user)))
  }
}
