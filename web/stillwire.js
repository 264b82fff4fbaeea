// SPDX-License-Identifier: Apache-2.0
import { comesBack, reconnectDelay, refusal } from './reconnect.js'

const subprotocol = 'stillwire.v1.json'
const patience = 10_000

/** A refusal by the relay, or the loss of the connection that a request was sent on. */
export class StillwireError extends Error {
  constructor({ code, message, temporary = false, retryAfter = 0 }) {
    super(message || code)
    this.name = 'StillwireError'
    this.code = code
    this.isTemporary = temporary
    this.retryAfter = retryAfter
  }
}

/**
 * One connection to a relay that comes back by itself.
 *
 * Events: `state` whenever `state` changes; every event of the protocol under its own name
 * (`welcome`, `message`, `presence`, …) with the frame as `detail`; `frame` for each frame in either
 * direction, `detail` being {`isOwn`, `text`, `frame`, `answers`}, the last the type of the request that a
 * reply belongs to.
 *
 * `state` is one of `closed` (not connected by one's own wish), `connecting`, `open` (welcomed),
 * `waiting` (lost, will come back) and `refused` (`reason` says why; only `connect` tries again).
 */
export class Stillwire extends EventTarget {
  state = 'closed'
  reason = ''
  #url
  #hello
  #socket = null
  #requests = new Map()
  #lastRequest = 0
  #attempt = 0
  #welcomedAt = 0
  #heartbeat = 25
  #bye = null
  #comeBack = 0
  #silence = 0

  /** `hello` is asked at every connect for the fields of the first frame. */
  constructor(url, hello) {
    super()
    this.#url = url
    this.#hello = hello
    globalThis.addEventListener?.('online', () => {
      if (this.state === 'waiting') this.#open()
    })
  }

  connect() {
    if (this.#socket) return
    this.#attempt = 0
    this.#open()
  }

  /** Leaves for good. Only code 1000 tells the relay that the person is gone at once. */
  close(code = 1000, reason = '') {
    clearTimeout(this.#comeBack)
    this.#abandon(code, reason)
    this.#become('closed')
  }

  /**
   * Sends a request and resolves with its reply. Rejects with a `StillwireError`; its code is `closed`
   * when the connection ended first, and then nobody knows whether the request took effect.
   */
  request(type, fields = {}) {
    if (this.state !== 'open') return Promise.reject(lost())
    const id = ++this.#lastRequest
    return new Promise((resolve, reject) => {
      this.#requests.set(id, { type, resolve, reject })
      this.#write({ type, id, ...fields })
    })
  }

  /** Sends a request that wants no reply; without a connection it is dropped. */
  tell(type, fields = {}) {
    if (this.state === 'open') this.#write({ type, ...fields })
  }

  #open() {
    clearTimeout(this.#comeBack)
    this.#bye = null
    this.#become('connecting')
    const socket = new WebSocket(this.#url, subprotocol)
    this.#socket = socket
    socket.onopen = () => this.#write({ type: 'hello', ...this.#hello() })
    socket.onmessage = ({ data }) => this.#read(data)
    socket.onclose = ({ code, reason }) => this.#closed(code, reason)
    this.#silence = setTimeout(() => this.#vanished(), patience)
  }

  #read(text) {
    this.#heard()
    const frame = JSON.parse(text)
    const request = this.#requests.get(frame.id)
    this.#dispatch('frame', { isOwn: false, text, frame, answers: request?.type })
    if (frame.type === 'welcome') {
      this.#heartbeat = frame.heartbeat
      this.#welcomedAt = Date.now()
      this.#heard()
      this.#become('open')
    } else if (frame.type === 'bye') {
      this.#bye = frame
    }
    if (request) {
      this.#requests.delete(frame.id)
      if (frame.type === 'error') request.reject(new StillwireError(frame))
      else request.resolve(frame)
    } else {
      this.#dispatch(frame.type, frame)
    }
  }

  #write(frame) {
    const text = JSON.stringify(frame)
    this.#socket.send(text)
    this.#dispatch('frame', { isOwn: true, text, frame })
  }

  // The relay's pings are invisible to a page, so silence is broken by a ping of our own.
  #heard() {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => {
      this.tell('ping')
      this.#silence = setTimeout(() => this.#vanished(), patience)
    }, this.#heartbeat * 1000)
  }

  #vanished() {
    this.#abandon(4004, 'silence')
    this.#closed(4004, 'silence')
  }

  #closed(code, reason) {
    this.#forget()
    if (this.#bye?.reconnect === false || !comesBack(code)) {
      this.reason = refusal(this.#bye?.code ?? code, this.#bye?.reason ?? reason)
      this.#become('refused')
      return
    }
    // A connection that ends soon after its welcome is a failure like any other; one that lasted is not.
    if (this.#welcomedAt && Date.now() - this.#welcomedAt > 20_000) this.#attempt = 0
    this.#welcomedAt = 0
    const delay = reconnectDelay(this.#attempt++, this.#bye?.retryAfter)
    this.#become('waiting')
    this.#comeBack = setTimeout(() => this.#open(), delay)
  }

  // A close handshake may never be answered, so the socket is let go before it ends.
  #abandon(code, reason) {
    const socket = this.#socket
    this.#forget()
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close(code, reason)
  }

  #forget() {
    clearTimeout(this.#silence)
    this.#socket = null
    for (const { reject } of this.#requests.values()) reject(lost())
    this.#requests.clear()
  }

  #become(state) {
    if (this.state === state) return
    this.state = state
    this.#dispatch('state', state)
  }

  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }))
  }
}

function lost() {
  return new StillwireError({ code: 'closed', message: 'not connected', temporary: true })
}
