// SPDX-License-Identifier: Apache-2.0
// Decides when the client sends a ping to a silent relay, and when the connection is lost. No dependencies.
//
// A script sees only whole frames, so a silence may be a frame that is still arriving. No silence ends a connection
// before the largest frame that may be on its way can have arrived. Protocol.md, "Silence", has the worst case.

/** With several addresses, a request without a reply for this time starts a ping. In milliseconds. */
const requestLimit = 3_000
/**
 * With several addresses, the connection is lost after this silence since a request, a ping, or the last frame of a
 * steady stream. In milliseconds.
 */
const nodeLimit = 4_000
/** The time of a small request and its reply, in milliseconds. A timer that is late by more than this shows a pause. */
const roundTrip = 1_000
/**
 * A stream is steady when frames have arrived for at least this time, and no two of them were more than `streamPause`
 * apart. With several addresses, the first longer pause starts a ping. In milliseconds.
 */
const streamTime = 5_000
const streamPause = 1_000
/** The slowest line on which a connection stays, in bytes per millisecond. */
const minRate = 5
/** Maximum size of the messages in a page, in bytes, and of that which an event adds to a message. */
const pageSize = 16_384
/** Maximum size of a reply to one of these requests, in bytes. */
const listSize = 393_216
const lists = new Set(['history', 'join', 'pins', 'presence', 'reports', 'rooms', 'watch'])

/** The silence of one connection. All times are in milliseconds. */
export class Silence {
  #heartbeat
  #limit
  #areSeveral
  #frameSize
  #trustAt
  #receivedAt
  /** The end of the newest long pause between two frames. */
  #streamsSince
  #pingedAt
  /** True if the page has paused while the answer to the ping was missing. */
  #hasPaused = false
  /** The rate that the line has shown, in bytes per millisecond. */
  #rate = minRate

  /**
   * `frame` is the maximum size of a frame that clients send. `areSeveral` is true if the client has other addresses.
   * The rate of the line counts from `trustAt` on: before it, the line counts as slow.
   */
  constructor({ heartbeat, pongTimeout, frame, areSeveral, trustAt }, now) {
    this.#heartbeat = heartbeat
    this.#limit = areSeveral ? Math.min(pongTimeout, nodeLimit) : pongTimeout
    this.#areSeveral = areSeveral
    this.#frameSize = frame + pageSize
    this.#trustAt = trustAt
    this.#receivedAt = now
    this.#streamsSince = now
  }

  /** Notes a frame of the relay. Returns true if the next step may now be due earlier than before the frame. */
  received(now) {
    const wasSteady = this.#isSteady
    const wasPinged = this.#pingedAt !== undefined
    if (now - this.#receivedAt > streamPause) this.#streamsSince = now
    this.#receivedAt = now
    this.#pingedAt = undefined
    this.#hasPaused = false
    return wasPinged || (this.#isSteady && !wasSteady)
  }

  /**
   * Notes a reply of `size` bytes, `time` after its request. All its bytes have arrived in this time, so the line has
   * at least this rate. A reply of a whole page shows also that the line has become slower.
   */
  measured(size, time) {
    const rate = Math.max(minRate, size / time)
    if (rate > this.#rate || size >= pageSize) this.#rate = rate
  }

  /** Returns true if the client must send a ping now, to find out if the connection still works. */
  probe(now) {
    if (this.#pingedAt !== undefined) return false
    this.#pingedAt = now
    return true
  }

  /**
   * Returns the time of the next `step`. `waiting` is a list of the requests without a reply, oldest first: {`type`,
   * `askedAt`, `size`}.
   */
  due(waiting) {
    const asked = this.#areSeveral ? (waiting[0]?.askedAt ?? Infinity) : Infinity
    if (this.#pingedAt === undefined) {
      const beat = this.#isSteady ? Math.min(streamPause, this.#heartbeat) : this.#heartbeat
      return Math.min(this.#receivedAt + beat, Math.max(asked, this.#receivedAt) + requestLimit)
    }
    // The ping of a stream leaves the rest of the time for its answer. A ping that is late is no ping of a stream.
    const isOfStream = this.#isSteady && this.#pingedAt - this.#receivedAt < streamPause + roundTrip
    const pause = isOfStream ? Math.max(0, this.#limit - nodeLimit + streamPause) : 0
    const since = Math.max(Math.min(asked, this.#pingedAt - pause), this.#receivedAt)
    return Math.max(this.#pingedAt + Math.min(roundTrip, this.#limit), since + this.#limitFor(waiting, since))
  }

  /** Returns `ping` if the client must send a ping now, `lost` if the connection is lost, or else undefined. */
  step(now, waiting) {
    const due = this.due(waiting)
    if (now < due) return undefined
    if (this.probe(now)) return 'ping'
    if (now < due + roundTrip || this.#hasPaused) return 'lost'
    // Frames may have arrived during the pause, and wait to be read.
    this.#hasPaused = true
    this.#pingedAt = now
    return undefined
  }

  /** True if the frames until the newest one were a steady stream. */
  get #isSteady() {
    return this.#areSeveral && this.#receivedAt - this.#streamsSince >= streamTime
  }

  #limitFor(waiting, since) {
    const size = waiting.some(({ type }) => lists.has(type)) ? Math.max(listSize, this.#frameSize) : this.#frameSize
    const rate = since < this.#trustAt ? minRate : this.#rate
    const sent = waiting.reduce((sum, request) => sum + request.size, 0)
    return Math.max(this.#limit, roundTrip + size / rate + sent / minRate)
  }
}
