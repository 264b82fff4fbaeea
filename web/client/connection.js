// SPDX-License-Identifier: Apache-2.0
// One connection to a relay, without rooms and reconnects. Depends on error.js and silence.js.
import { StillwireError, closed } from './error.js'
import { Silence } from './silence.js'

const subprotocol = 'stillwire.v1.json'
/** Timeout of an attempt in milliseconds, from the request for the token to the welcome. */
const attemptLimit = 15_000
/** Timeout of a socket to one of several addresses, in milliseconds: a node without power refuses no connection. */
const socketLimit = 5_000
/** Maximum number of requests that may still get a late reply. */
const maxRequests = 1_000
/** The value of `limits.frame` of a relay that does not state it, in bytes. */
const defaultFrame = 65_536
/** Minimum delay before the client requests a newer token, in milliseconds. */
const minRenewal = 1_000
/** Maximum delay of a timer in milliseconds: 24 days. A browser's timer supports less than 2³¹ ms. */
const maxTimer = 2_073_600_000

/** Close codes of this client. The relay treats 3001 and 3002 as a lost connection. */
export const suspended = 3001
const malformed = 3002
const silent = 4004

/**
 * One connection, from its token to its end: the handshake, `hello`, requests with their replies, and the detection of
 * a silent relay. It calls these methods of `listener` synchronously, in the order of the frames:
 *
 * - `welcomed(frame)` for `welcome`
 * - `received(frame)` for a frame that answers no request
 * - `framed(detail)` for each frame in either direction
 * - `ended(outcome)` once at the end: {`code`, `reason`, `bye`, `error`, `refusal`, `isUnopened`, `isSilent`, `found`}.
 *   `refusal` is the `error` frame that answers `hello`. `isUnopened` is true if the socket closed before it opened. It
 *   is absent after a timeout. `isSilent` is true if the relay did not answer in time. `found` is the result of
 *   `explain`. `error` is the exception of `hello` or of the WebSocket constructor.
 */
export class Connection {
  #clock
  #limit
  #listener
  #socket = null
  #requests = new Map()
  #lastID = 0
  #timer
  #opening
  #explain
  #areSeveral
  #trustAfter
  #helloAt = 0
  /** The time of the newest frame, except `pong`: it goes before the replies that wait for a slow connection. */
  #receivedAt = 0
  #silence
  /** The time for which the timer of the silence is set. */
  #dueAt = Infinity
  #frameLimit = Infinity
  #isWelcome = false
  #isOver = false
  #bye
  #error
  #hasOpened = false
  #failure = ''
  #token
  #delay
  #renewal
  /** The newest expiry of the session's token. */
  #expires = 0

  /**
   * `hello` returns the fields of the first frame, or a promise of them. `token` is called for a newer token, if the
   * app has a token function. `delay(attempt, retryAfter)` is the delay of a retry in milliseconds. `areSeveral` is true if
   * the client has other addresses: the socket and a silent relay then have shorter timeouts. The line counts as slow
   * in the first `trustAfter` milliseconds. If the socket closes before it opens and `explain` is given, the connection
   * ends with its result.
   */
  constructor({ url, WebSocket, clock, timeout, token, delay, areSeveral, trustAfter = 0, explain }, hello, listener) {
    this.#explain = explain
    this.#areSeveral = areSeveral
    this.#trustAfter = trustAfter
    this.#clock = clock
    this.#limit = timeout
    this.#token = token
    this.#delay = delay
    this.#listener = listener
    this.#timer = clock.setTimeout(() => this.#lose(silent, 'no answer'), attemptLimit)
    this.#open(hello, () => {
      if (areSeveral) this.#opening = clock.setTimeout(() => this.#lose(silent, 'no answer'), socketLimit)
      return new WebSocket(url, subprotocol)
    })
  }

  /**
   * Sends a request. Calls `settle(error, reply)` at the reply, or at the end of the connection. If it cannot send, it
   * calls it immediately. If the relay sends nothing for the timeout, it calls `settle` with the code `timeout` first,
   * and again at the late reply. It takes a callback instead of returning a promise: a promise's callback would run
   * only after the following frames were processed.
   */
  ask(type, fields, settle) {
    if (!this.#isWelcome || this.#isOver) return settle(closed())
    const id = ++this.#lastID
    const frame = { type, id, ...fields }
    const text = JSON.stringify(frame)
    const size = bytes(text)
    if (size > this.#frameLimit) {
      const message = `the frame exceeds the limit of ${this.#frameLimit} bytes`
      return settle(new StillwireError({ code: 'too_large', message }))
    }
    const request = { type, settle, size, askedAt: this.#clock.elapsed(), isLate: false }
    this.#requests.set(id, request)
    // A second join would transfer the messages again, so a join has no timeout.
    if (type !== 'join') this.#startTimeout(id, request)
    this.#watch()
    // A listener of the frame may close the connection, which ends all timers.
    this.#write(text, frame)
  }

  /** Sends a frame without an id, to which the relay sends no reply. */
  notify(type, fields) {
    const frame = { type, ...fields }
    if (this.#isWelcome && !this.#isOver) this.#write(JSON.stringify(frame), frame)
  }

  /** Sends a ping immediately, to find out if the connection still works, unless the answer to a ping is missing. */
  probe() {
    if (!this.#isWelcome || this.#isOver || !this.#silence.probe(this.#clock.elapsed())) return
    this.#watch()
    this.notify('ping')
  }

  /** Closes the connection, and calls `ended`. */
  close(code, reason) {
    this.#abandon(code, reason)
    this.#end({ code, reason })
  }

  #startTimeout(id, request) {
    const { type, settle, askedAt } = request
    const look = () => {
      const rest = Math.max(askedAt, this.#receivedAt) + this.#limit - this.#clock.elapsed()
      if (rest > 0) return (request.timer = this.#clock.setTimeout(look, rest))
      request.isLate = true
      if (this.#requests.size > maxRequests) this.#requests.delete(id)
      settle(new StillwireError({ code: 'timeout', message: `no reply to “${type}”`, temporary: true }))
    }
    request.timer = this.#clock.setTimeout(look, this.#limit)
  }

  async #open(hello, makeSocket) {
    try {
      const fields = await hello()
      if (this.#isOver) return
      const socket = makeSocket()
      socket.onopen = () => {
        this.#hasOpened = true
        this.#clock.clearTimeout(this.#opening)
        this.#helloAt = this.#clock.elapsed()
        const frame = { type: 'hello', ...fields }
        this.#write(JSON.stringify(frame), frame)
      }
      socket.onmessage = ({ data }) => this.#read(data)
      // Browsers give no reason here. The package `ws` gives the HTTP status of the answer.
      socket.onerror = (event) => (this.#failure ||= event?.message ?? '')
      socket.onclose = ({ code, reason }) => {
        this.#clock.clearTimeout(this.#opening)
        this.#closed({ code, reason: reason || this.#failure, isUnopened: !this.#hasOpened })
      }
      this.#socket = socket
    } catch (error) {
      this.#end({ code: 1006, reason: error?.message ?? String(error), error })
    }
  }

  async #closed(outcome) {
    if (!outcome.isUnopened || !this.#explain) return this.#end(outcome)
    const found = await this.#explain()
    this.#end({ ...outcome, found })
  }

  #read(data) {
    const frame = typeof data === 'string' ? parsed(data) : undefined
    if (!frame) return this.#lose(malformed, 'malformed frame')
    const now = this.#clock.elapsed()
    if (frame.type !== 'pong') this.#receivedAt = now
    if (this.#silence?.received(now)) this.#watch()
    const request = this.#requests.get(frame.id)
    this.#listener.framed({ isOwn: false, text: data, frame, answers: request?.type })
    if (this.#isOver) return
    if (request) {
      this.#requests.delete(frame.id)
      this.#clock.clearTimeout(request.timer)
      this.#silence.measured(data.length, now - request.askedAt)
      if (frame.type === 'error') request.settle(new StillwireError(frame))
      else request.settle(null, frame)
    } else if (frame.type === 'welcome') {
      this.#welcome(frame, data.length)
    } else if (frame.id === undefined) {
      if (frame.type === 'bye') this.#bye = frame
      if (frame.type === 'error' && !this.#isWelcome) this.#error = frame
      this.#listener.received(frame)
    }
  }

  #welcome(frame, size) {
    if (this.#isWelcome) return
    this.#isWelcome = true
    const now = this.#clock.elapsed()
    const { limits = {} } = frame
    this.#frameLimit = limits.frame ?? Infinity
    const options = {
      heartbeat: 1000 * (frame.heartbeat > 0 ? frame.heartbeat : 25),
      pongTimeout: 1000 * (limits.pongTimeout ?? 10),
      frame: limits.frame ?? defaultFrame,
      areSeveral: this.#areSeveral,
      trustAt: now + this.#trustAfter,
    }
    this.#silence = new Silence(options, now)
    this.#silence.measured(size, now - this.#helloAt)
    this.#clock.clearTimeout(this.#timer)
    this.#watch()
    this.#renew(frame.expires, frame.time - now)
    this.#listener.welcomed(frame)
  }

  // Requests a newer token before this one expires. A token that expires no later than the one before is not renewed
  // again. `start` is the relay's time at the start of `elapsed`.
  #renew(expires, start) {
    const end = expires - start
    const life = end - this.#clock.elapsed()
    if (!this.#token || !(Number.isSafeInteger(expires) && expires > this.#expires && life > 0)) return
    this.#expires = expires
    const again = (attempt, error) => {
      const delay = Math.max(minRenewal, this.#delay(attempt, error?.retryAfter))
      if (this.#clock.elapsed() + delay < end) renewAfter(delay, attempt + 1)
    }
    const renewAfter = (delay, attempt) => {
      this.#clock.clearTimeout(this.#renewal)
      this.#renewal = this.#clock.setTimeout(async () => {
        if (delay > maxTimer) return renewAfter(delay - maxTimer, attempt)
        const token = await this.#token({ isExpired: true }).catch(() => null)
        if (this.#isOver) return
        if (!token) return again(attempt)
        let isLate = false
        this.ask('refresh', { token }, (error, reply) => {
          if (!error) return this.#renew(reply.expires, start)
          // A late reply may have renewed the token, and a late refusal does not count.
          if (isLate || error.code === 'closed' || expires !== this.#expires) return
          isLate = error.code === 'timeout'
          again(attempt, error)
        })
      }, Math.min(delay, maxTimer))
    }
    renewAfter(Math.max(life - 30_000, life / 2, minRenewal), 0)
  }

  // A page cannot see the relay's WebSocket pings, so the client sends its own ping after a silence. The timer may be
  // early, because the relay has sent frames since, but not late.
  #watch() {
    const due = this.#silence.due(this.#waiting())
    if (due >= this.#dueAt) return
    this.#clock.clearTimeout(this.#timer)
    this.#dueAt = due
    this.#timer = this.#clock.setTimeout(() => this.#look(), Math.max(0, due - this.#clock.elapsed()))
  }

  #look() {
    this.#dueAt = Infinity
    const step = this.#silence.step(this.#clock.elapsed(), this.#waiting())
    if (step === 'lost') return this.#lose(silent, 'silence')
    this.#watch()
    // A listener of the frame may close the connection, which ends all timers.
    if (step === 'ping') this.notify('ping')
  }

  // The requests that wait for a reply, oldest first.
  #waiting() {
    return [...this.#requests.values()].filter(({ isLate }) => !isLate)
  }

  #write(text, frame) {
    this.#socket.send(text)
    this.#listener.framed({ isOwn: true, text, frame })
  }

  #lose(code, reason) {
    // Without a socket, the app has not supplied its token in time.
    const isSilent = code === silent && this.#socket !== null
    this.#abandon(code, reason)
    // The backoff treats this as a lost connection, although the client closed it.
    this.#end({ code: 1006, reason, isSilent })
  }

  // Does not wait for the close handshake, which a silent relay never answers. `ws` in Node would wait for it, so its
  // socket is terminated.
  #abandon(code, reason) {
    const socket = this.#socket
    this.#socket = null
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    if (code === silent && socket.terminate) socket.terminate()
    else socket.close(code, reason)
  }

  #end(outcome) {
    if (this.#isOver) return
    this.#isOver = true
    for (const timer of [this.#timer, this.#opening, this.#renewal]) this.#clock.clearTimeout(timer)
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
