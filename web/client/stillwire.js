// SPDX-License-Identifier: Apache-2.0
import { Connection, suspended } from './connection.js'
import { StillwireError, StillwireEvent, closed } from './error.js'
import { FocusReport } from './focus-report.js'
import { handshakeRefusal } from './handshake.js'
import { watchPage } from './page-life.js'
import { comesBack, reconnectDelay, refusal } from './reconnect.js'
import { Room, ended, lost, opened, told } from './room.js'

export { StillwireError } from './error.js'
export { Reporter } from './reporter.js'
export { isSilenced, noPresence, presenceAfter } from './presence.js'

/** A connection that was welcome for so many milliseconds was no failure: the back-off begins anew. */
const steady = 20_000
const expired = 4002
/** Unknown events are ignored: they must not pass for our own. Those of rooms are told here if no `Room` is joined. */
const events = new Set(
  'response presence error bye message edited deleted signal member counts receipt delivery room'.split(' ')
)

const ownClock = {
  now: () => Date.now(),
  setTimeout: (act, delay) => setTimeout(act, delay),
  clearTimeout: (timer) => clearTimeout(timer),
}

/**
 * A client of a relay that comes back by itself, with its rooms, and loses nothing on the way.
 *
 * Events: `state` whenever `state` changed ({`state`, `reason?`, `code?`, `delay?`}); `welcome`, `response`, `presence`,
 * `error`, `bye` as the protocol has them; `frame` for each frame in either direction, `detail` being
 * {`isOwn`, `text`, `frame`, `answers`}, the last the type of the request that a reply belongs to. What belongs to a
 * room is told by the room.
 *
 * A handshake that fails is tried again. The client then requests the reason over HTTP, and an `error` event {`code`,
 * `message`} reports it, as far as it can be found out; its code is the relay's, or `handshake`. A lasting refusal that
 * the relay sends over HTTP, such as that of a page that its setting `origins` does not list, ends the client:
 * `refused`. Where a proxy changes Host and serves the page as well, the client cannot read that refusal: it reports
 * `handshake`, and goes on trying.
 *
 * `state` is one of `closed` (not connected by one's own wish), `connecting`, `open` (welcomed),
 * `waiting` (lost, will come back) and `refused` (`reason` says why; only `connect` tries again).
 *
 * All durations are seconds, as in the protocol. `stillwire.d.ts` describes each option.
 */
export class Stillwire extends EventTarget {
  state = 'closed'
  reason = ''
  /** The user, as the relay knows them; empty before the first welcome. */
  user = ''
  #options
  #clock
  #page
  #connection = null
  #rooms = new Map()
  #waiting = 0
  #attempt = 0
  /** The number of handshakes that failed since the last welcome. */
  #failures = 0
  /** The number of times that the client was stopped, by `close` or a refusal. */
  #stops = 0
  #welcomedAt = null
  #comeBack = 0
  #isExpired = false
  #isSuspended = false
  #isActivityChosen = false
  #activity = 'active'
  #focus
  #unwatch = null
  /** The newest reason of a failed handshake that was reported. */
  #reported = ''
  #link

  constructor(url, options = {}) {
    super()
    const { WebSocket = globalThis.WebSocket, clock = ownClock, timeout = 15, outbox = 100 } = options
    const { page = globalThis.document ? globalThis : null, random = Math.random, fetch = globalThis.fetch } = options
    if (!WebSocket) throw new TypeError('there is no WebSocket here: give one as an option')
    this.#options = { ...options, url: String(new URL(url)), WebSocket, clock, timeout: 1000 * timeout, fetch }
    this.#clock = clock
    this.#page = page
    this.#link = {
      clock,
      user: () => this.user,
      isOpen: () => this.state === 'open',
      isRefused: () => this.state === 'refused',
      ask: (type, fields, settle) => {
        if (this.#connection) this.#connection.ask(type, fields, settle)
        else settle(closed())
      },
      tell: (type, fields) => this.tell(type, fields),
      delay: (attempt, retryAfter) => reconnectDelay(attempt, retryAfter, random),
      reserve: () => this.#waiting < outbox && ++this.#waiting > 0,
      release: () => (this.#waiting -= 1),
      has: (room) => this.#rooms.get(room.name)?.isWanted === true && this.#rooms.get(room.name).room === room,
      adopt: (room) => this.#adopt(room),
      forget: (room) => this.#rooms.delete(room.name),
    }
    this.#focus = new FocusReport(this.#link)
  }

  /** Connects, and comes back until `close`; while waiting it tries at once. */
  connect() {
    if (this.#connection) return
    if (this.state !== 'waiting') this.#attempt = this.#failures = 0
    this.#unwatch ??= this.#page ? watchPage(this.#page, this.#clock, this.#pageListener()) : null
    this.#open()
  }

  /** Leaves for good; sends that wait fail. Only code 1000 tells the relay that the person is gone at once. */
  close(code = 1000, reason = '') {
    this.#stop()
    const connection = this.#connection
    this.#connection = null
    connection?.close(code, reason)
    for (const room of this.#joinedRooms()) room[lost]()
    this.#become('closed')
    this.#finish()
  }

  /**
   * Sends a request and resolves with its reply. Rejects with a `StillwireError`; its code is `closed`
   * when the connection ended first, and then nobody knows whether the request took effect.
   */
  request(type, fields = {}) {
    return new Promise((resolve, reject) => {
      this.#link.ask(type, fields, (error, reply) => {
        if (error) reject(error)
        else resolve(reply)
      })
    })
  }

  /** Sends a request that wants no reply; without a connection it is dropped. */
  tell(type, fields = {}) {
    this.#connection?.tell(type, fields)
  }

  /** The room of this name, always the same one while it is joined. `history`: how many messages a first join brings. */
  room(name, { history = 0 } = {}) {
    const known = this.#rooms.get(name)
    if (known) return known.room
    const room = new Room(this.#link, name, history)
    this.#rooms.set(name, { room, isWanted: false })
    return room
  }

  /** Says what the person does, whatever the page knows: `active`, `idle` or `background`; null: the page again. */
  setActivity(state) {
    this.#isActivityChosen = state !== null
    if (state !== null) this.#beActive(state)
    else if (this.#unwatch) {
      this.#unwatch()
      this.#beActive('active')
      this.#unwatch = watchPage(this.#page, this.#clock, this.#pageListener())
    }
  }

  /** Reports this device's Focus (true, false, null: unknown), now or at the next welcome; a newer one replaces it. */
  setFocus(isFocused, fields = {}) {
    return this.#focus.set(isFocused, fields)
  }

  #open() {
    this.#clock.clearTimeout(this.#comeBack)
    this.#become('connecting')
    const connection = new Connection(this.#options, () => this.#hello(), {
      welcomed: (frame) => this.#welcomed(frame),
      told: (frame) => this.#told(frame),
      framed: (detail) => this.#dispatch('frame', detail),
      ended: (outcome) => {
        if (this.#connection === connection) this.#ended(outcome)
      },
    })
    this.#connection = connection
  }

  async #hello() {
    const { token, hello } = this.#options
    const isExpired = this.#isExpired
    const fields = typeof hello === 'function' ? hello() : hello
    const given = typeof token === 'function' ? await token({ isExpired }) : token
    return { acks: true, ...fields, token: given, activity: this.#activity }
  }

  #welcomed(frame) {
    this.#welcomedAt = this.#clock.now()
    this.#isExpired = false
    this.#failures = 0
    this.#reported = ''
    this.user = frame.user
    this.#become('open')
    this.#dispatch('welcome', frame)
    this.#focus.tell()
    for (const room of this.#joinedRooms()) room[opened]()
  }

  #told(frame) {
    if (frame.type === 'presence') for (const room of this.#joinedRooms()) room[told](frame)
    const joined = this.#rooms.get(frame.room)
    if (joined?.isWanted && frame.type !== 'response') joined.room[told](frame)
    else if (events.has(frame.type)) this.#dispatch(frame.type, frame)
  }

  #ended({ code, reason, bye, error, refusal: answer, isUnopened }) {
    this.#connection = null
    for (const room of this.#joinedRooms()) room[lost]()
    const last = bye?.code ?? code
    if (last === expired) this.#isExpired = true
    // The same token again would be refused again.
    const isSpent = last === expired && typeof this.#options.token === 'string'
    if (bye?.reconnect === false || !comesBack(last) || error?.isTemporary === false || isSpent) {
      return this.#refuse(last, refusal(last, bye?.reason ?? reason, answer))
    }
    // A connection that ends soon after its welcome is a failure like any other; one that lasted is not.
    if (this.#welcomedAt !== null && this.#clock.now() - this.#welcomedAt >= steady) this.#attempt = 0
    this.#welcomedAt = null
    const delay = this.#link.delay(this.#attempt++, bye?.retryAfter)
    if (isUnopened) this.#explain()
    if (this.#isSuspended) return this.#become('waiting')
    this.#comeBack = this.#clock.setTimeout(() => this.#open(), delay)
    this.#become('waiting', { delay: delay / 1000 })
  }

  #refuse(code, reason) {
    this.reason = reason
    this.#stop()
    this.#become('refused', { code, reason })
    this.#finish(new StillwireError({ code: 'refused', message: reason }))
  }

  // Reports why the handshake failed, once for each reason. It asks the relay after the failures 1, 2, 4, 8 and so on.
  async #explain() {
    const { url, fetch } = this.#options
    const failures = ++this.#failures
    if (!fetch || failures & (failures - 1)) return
    const stops = this.#stops
    const found = await handshakeRefusal(url, { fetch, origin: globalThis.document ? globalThis.origin : undefined })
    const isTrying = () => stops === this.#stops && this.state !== 'open'
    if (!found || !isTrying() || found.message === this.#reported) return
    // The relay may have been starting: a proxy that drops a header does so each time.
    if (found.code === 'handshake' && failures < 2) return
    this.#reported = found.message
    const { code, message, isFinal } = found
    this.#dispatch('error', { type: 'error', code, message, temporary: !isFinal })
    // A listener may have closed the client.
    if (!isFinal || !isTrying()) return
    const connection = this.#connection
    this.#connection = null
    connection?.close(1000, '')
    this.#refuse(1006, refusal(1006, '', found))
  }

  #stop() {
    this.#stops += 1
    this.#clock.clearTimeout(this.#comeBack)
    this.#unwatch?.()
    this.#unwatch = null
    this.#isSuspended = false
    this.#welcomedAt = null
  }

  // Nothing is tried any more, so nothing waits any more either.
  #finish(error) {
    this.#focus.fail()
    for (const { room } of this.#rooms.values()) room[ended](error)
  }

  #adopt(room) {
    const known = this.#rooms.get(room.name)
    if (known && known.room !== room) throw new Error(`another object stands for the room ${room.name}`)
    this.#rooms.set(room.name, { room, isWanted: true })
    return known?.isWanted !== true
  }

  *#joinedRooms() {
    for (const { room, isWanted } of [...this.#rooms.values()]) if (isWanted) yield room
  }

  #beActive(state) {
    if (this.#activity === state) return
    this.#activity = state
    this.tell('activity', { state })
  }

  #pageListener() {
    return {
      active: (state) => {
        if (!this.#isActivityChosen) this.#beActive(state)
      },
      suspended: () => {
        this.#isSuspended = true
        this.#clock.clearTimeout(this.#comeBack)
        this.#connection?.close(suspended, 'suspended')
      },
      resumed: () => {
        this.#isSuspended = false
        if (this.state === 'waiting') this.#open()
        else this.#connection?.probe()
      },
      networkChanged: (isOnline) => {
        if (isOnline && this.state === 'waiting' && !this.#isSuspended) this.#open()
        else this.#connection?.probe()
      },
    }
  }

  #become(state, more) {
    if (this.state === state) return
    this.state = state
    this.#dispatch('state', { state, ...more })
  }

  #dispatch(type, detail) {
    this.dispatchEvent(new StillwireEvent(type, detail))
  }
}
