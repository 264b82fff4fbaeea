// SPDX-License-Identifier: Apache-2.0
import { StillwireError, closed } from './error.js'

const subprotocol = 'stillwire.v1.json'
/** From asking for the token to the welcome. */
const attemptLimit = 15_000
/** 24 days; none goes beyond 2³¹ ms. */
const longestTimer = 2_073_600_000

/** Close codes of our own; the relay treats both like a lost network. */
export const suspended = 3001
const malformed = 3002
const silent = 4004

/**
 * One connection, from its token to its end: the handshake, `hello`, requests and their replies, and the watch over
 * silence. Everything is told to `listener` at once and in the order of the frames: `welcomed(frame)`,
 * `told(frame)` for what answers no request, `framed(detail)`, and once, last, `ended(outcome)`: {`code`, `reason`, `bye`,
 * `error`, `refusal`, `isUnopened`}. `refusal` is the `error` frame that answers `hello`. `isUnopened` is true if the
 * handshake failed.
 */
export class Connection {
  #clock
  #limit
  #listener
  #socket = null
  #requests = new Map()
  #lastID = 0
  #timer
  #heardAt = 0
  #isAsked = false
  #heartbeat = 0
  #patience = 10_000
  #frameLimit = Infinity
  #isWelcome = false
  #isOver = false
  #bye
  #error
  #hasOpened = false
  #failure = ''
  #token
  #renewal

  /** `hello` gives the fields of the first frame, or a promise of them. */
  constructor({ url, WebSocket, clock, timeout, token }, hello, listener) {
    this.#clock = clock
    this.#limit = timeout
    this.#token = token
    this.#listener = listener
    this.#timer = clock.setTimeout(() => this.#lose(silent, 'no answer'), attemptLimit)
    this.#open(hello, () => new WebSocket(url, subprotocol))
  }

  /**
   * Sends a request; `settle(error, reply)` is called once, and at once where nothing is sent. A promise would let the
   * frames behind the reply overtake it.
   */
  ask(type, fields, settle, limit = this.#limit) {
    if (!this.#isWelcome || this.#isOver) return settle(closed())
    const id = ++this.#lastID
    const frame = { type, id, ...fields }
    const text = JSON.stringify(frame)
    if (bytes(text) > this.#frameLimit) {
      const message = `a frame holds ${this.#frameLimit} bytes at most`
      return settle(new StillwireError({ code: 'too_large', message }))
    }
    const timer = this.#clock.setTimeout(() => {
      this.#requests.delete(id)
      settle(new StillwireError({ code: 'timeout', message: `no reply to “${type}”`, temporary: true }))
    }, limit)
    this.#requests.set(id, { type, settle, timer })
    this.#write(text, frame)
  }

  /** Sends a request that wants no reply. */
  tell(type, fields) {
    const frame = { type, ...fields }
    if (this.#isWelcome && !this.#isOver) this.#write(JSON.stringify(frame), frame)
  }

  /** Asks at once whether anybody is there, as when the network may have changed. */
  probe() {
    if (!this.#isWelcome || this.#isOver) return
    this.#clock.clearTimeout(this.#timer)
    this.#isAsked = true
    this.tell('ping')
    this.#timer = this.#clock.setTimeout(() => {
      if (this.#isAsked) this.#lose(silent, 'silence')
      else this.#watch()
    }, this.#patience)
  }

  /** Ends it by one's own wish; `ended` is told. */
  close(code, reason) {
    this.#abandon(code, reason)
    this.#end({ code, reason })
  }

  async #open(hello, makeSocket) {
    try {
      const fields = await hello()
      if (this.#isOver) return
      const socket = makeSocket()
      socket.onopen = () => {
        this.#hasOpened = true
        const frame = { type: 'hello', ...fields }
        this.#write(JSON.stringify(frame), frame)
      }
      socket.onmessage = ({ data }) => this.#read(data)
      // Browsers say nothing here; `ws` names the status of the answer.
      socket.onerror = (event) => (this.#failure ||= event?.message ?? '')
      socket.onclose = ({ code, reason }) => {
        this.#end({ code, reason: reason || this.#failure, isUnopened: !this.#hasOpened })
      }
      this.#socket = socket
    } catch (error) {
      this.#end({ code: 1006, reason: error?.message ?? String(error), error })
    }
  }

  #read(data) {
    const frame = typeof data === 'string' ? parsed(data) : undefined
    if (!frame) return this.#lose(malformed, 'malformed frame')
    this.#heardAt = this.#clock.now()
    this.#isAsked = false
    const request = this.#requests.get(frame.id)
    this.#listener.framed({ isOwn: false, text: data, frame, answers: request?.type })
    if (request) {
      this.#requests.delete(frame.id)
      this.#clock.clearTimeout(request.timer)
      if (frame.type === 'error') request.settle(new StillwireError(frame))
      else request.settle(null, frame)
    } else if (frame.type === 'welcome') {
      this.#welcome(frame)
    } else if (frame.id === undefined) {
      if (frame.type === 'bye') this.#bye = frame
      if (frame.type === 'error' && !this.#isWelcome) this.#error = frame
      this.#listener.told(frame)
    }
  }

  #welcome(frame) {
    if (this.#isWelcome) return
    this.#isWelcome = true
    this.#heartbeat = 1000 * (frame.heartbeat > 0 ? frame.heartbeat : 25)
    this.#patience = 1000 * (frame.limits?.pongTimeout ?? 10)
    this.#frameLimit = frame.limits?.frame ?? Infinity
    this.#clock.clearTimeout(this.#timer)
    this.#watch()
    this.#renew(frame.expires, 0, frame.time - this.#clock.now())
    this.#listener.welcomed(frame)
  }

  // What goes wrong is left to the token's end, after which the client comes back with another.
  #renew(expires, last, ahead) {
    const life = expires - ahead - this.#clock.now()
    if (typeof this.#token !== 'function' || !(Number.isSafeInteger(expires) && expires > last && life > 0)) return
    const delay = Math.max(life - 30_000, life / 2, 1000)
    this.#renewal = this.#clock.setTimeout(async () => {
      if (delay > longestTimer) return this.#renew(expires, last, ahead)
      try {
        const token = await this.#token({ isExpired: true })
        if (token) this.ask('refresh', { token }, (_, reply) => this.#renew(reply?.expires, expires, ahead))
      } catch {}
    }, Math.min(delay, longestTimer))
  }

  // The relay's pings are invisible to a page, so silence is broken by a ping of our own.
  #watch() {
    const rest = this.#heardAt + this.#heartbeat - this.#clock.now()
    if (rest > 0) this.#timer = this.#clock.setTimeout(() => this.#watch(), rest)
    else this.probe()
  }

  #write(text, frame) {
    this.#socket.send(text)
    this.#listener.framed({ isOwn: true, text, frame })
  }

  #lose(code, reason) {
    this.#abandon(code, reason)
    // For the back-off it is a loss, whoever noticed it.
    this.#end({ code: 1006, reason })
  }

  // A close handshake may never be answered, so the socket is let go before it ends.
  #abandon(code, reason) {
    const socket = this.#socket
    this.#socket = null
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    // Nobody answers a goodbye in silence, and Node would wait for that.
    if (code === silent && socket.terminate) socket.terminate()
    else socket.close(code, reason)
  }

  #end(outcome) {
    if (this.#isOver) return
    this.#isOver = true
    this.#clock.clearTimeout(this.#timer)
    this.#clock.clearTimeout(this.#renewal)
    const requests = [...this.#requests.values()]
    this.#requests.clear()
    for (const { settle, timer } of requests) {
      this.#clock.clearTimeout(timer)
      settle(closed())
    }
    this.#listener.ended({ ...outcome, bye: this.#bye, refusal: this.#error })
  }
}

function parsed(text) {
  try {
    const frame = JSON.parse(text)
    return typeof frame === 'object' && !Array.isArray(frame) ? frame : undefined
  } catch {
    return undefined
  }
}

function bytes(text) {
  return new TextEncoder().encode(text).length
}
