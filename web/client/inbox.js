// SPDX-License-Identifier: Apache-2.0
// The place of a client in the changes of its list of rooms. No dependencies.

/**
 * The position up to which the client has all changes of its list of rooms. After a reconnect, `hello` names it, and
 * the relay sends the missed changes as events.
 */
export class InboxPlace {
  #position

  /** Returns the field `inbox` of the next `hello`. `wanted` is the field that the app has set. */
  hello(wanted) {
    if (!wanted || this.#position === undefined) return wanted
    return { ...(wanted === true ? {} : wanted), since: this.#position }
  }

  /** Records a welcome. Returns the event `inbox` if the app must list its rooms again. */
  welcomed({ inbox }) {
    if (!inbox) return undefined
    this.#position = inbox.position
    return inbox.reset ? { type: 'inbox', event: 'reset', position: inbox.position } : undefined
  }

  /** Records an event `inbox`. */
  received({ position }) {
    if (typeof position === 'string') this.#position = position
  }
}
