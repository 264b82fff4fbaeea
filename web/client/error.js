// SPDX-License-Identifier: Apache-2.0

/**
 * An error of the relay, with a `code` of the protocol, or of the client itself. The client has these codes:
 *
 * - `closed`: no connection, or it ended before the reply. In the second case the request may have taken effect.
 * - `timeout`: no reply in time. The request may have taken effect.
 * - `full`: the outbox has no capacity.
 * - `uncertain`: the relay may have stored the message, and its key is too old to send it again.
 * - `replaced`: a newer report of this device replaced this one.
 * - `not_applied`: the relay has not applied a report, although it is the newest one.
 * - `removed`: the user is no longer a member of the room.
 * - `malformed`: a required field is missing in the reply.
 * - `bad_token`: the token function, or the option `token`, has no token.
 * - `refused`: the client does not reconnect by itself.
 * - `unreachable` and `bad_answer`, only of `Reporter`: no answer, and an answer that is not the relay's.
 */
export class StillwireError extends Error {
  constructor({ code, message, temporary = false, retryAfter = 0, until }) {
    super(message || code)
    this.name = 'StillwireError'
    this.code = code
    this.isTemporary = temporary
    /** The delay before a retry, in seconds. */
    this.retryAfter = retryAfter
    /** The end of a restriction, in milliseconds since 1970. Undefined for other errors. */
    this.until = until
  }
}

export function closed() {
  return new StillwireError({ code: 'closed', message: 'not connected', temporary: true })
}

/** An event with a `detail`. It replaces `CustomEvent`, which Node 18 of Debian 12 lacks. */
export class StillwireEvent extends Event {
  constructor(type, detail) {
    super(type)
    this.detail = detail
  }
}
