// SPDX-License-Identifier: Apache-2.0

/**
 * A refusal by the relay (`code` is one of the protocol's), or one of the client's own:
 * `closed` (no connection, or it ended: nobody knows whether the request took effect), `timeout`, `full` (the outbox),
 * `uncertain` (a send that may have taken effect, too long ago to ask), `replaced` (a Focus report by a newer one),
 * `removed` (from the room), `malformed` (a reply that lacks what it needs), `refused` (the client will not come back).
 * A `Reporter` has `unreachable` (no answer) and `bad_answer` (an answer that is not the relay's) besides.
 */
export class StillwireError extends Error {
  constructor({ code, message, temporary = false, retryAfter = 0 }) {
    super(message || code)
    this.name = 'StillwireError'
    this.code = code
    this.isTemporary = temporary
    /** Seconds. */
    this.retryAfter = retryAfter
  }
}

export function closed() {
  return new StillwireError({ code: 'closed', message: 'not connected', temporary: true })
}

/** An event with a `detail`; `CustomEvent` is missing in Debian 12's Node. */
export class StillwireEvent extends Event {
  constructor(type, detail) {
    super(type)
    this.detail = detail
  }
}
