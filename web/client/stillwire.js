// SPDX-License-Identifier: Apache-2.0
// The entry point of the JavaScript client. It has no dependencies outside this folder.
import { Addresses } from './addresses.js'
import { requestedChange } from './changes.js'
import { Connection, suspended } from './connection.js'
import { StillwireError, StillwireEvent, closed } from './error.js'
import { FocusReport } from './focus-report.js'
import { handshakeRefusal } from './handshake.js'
import { InboxPlace } from './inbox.js'
import { JoinQueue } from './join-queue.js'
import { watchPage } from './page-life.js'
import { comesBack, handoverDelay, isHandover, jitterAfter, mayTryNext, reconnectDelay, refusal } from './reconnect.js'
import { Room, changed, ended, join, lost, received } from './room.js'
import { Watches } from './watches.js'

export { StillwireError } from './error.js'
export { Reporter } from './reporter.js'
export { isSilenced, noPresence, presenceAfter } from './presence.js'
export { quoteAfter } from './quote.js'

/** A connection that lasts this long after its welcome, in milliseconds, resets the backoff. */
const steady = 20_000
/** After a silent session, the line counts as slow in the first milliseconds of the next one. */
const doubt = 5_000
const expired = 4002
/**
 * The events that the client dispatches. It ignores unknown events, which could have the name of its own events. It
 * dispatches the events of a room only if no `Room` is joined for it.
 */
const events = new Set(
  'response presence error bye message edited deleted signal member counts receipt delivery room inbox call invitation'
    .split(' ')
)

/** The events that the client never passes to a `Room`. */
const ofUser = new Set(['response', 'inbox', 'call', 'invitation'])

const ownClock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimeout: (act, delay) => setTimeout(act, delay),
  clearTimeout: (timer) => clearTimeout(timer),
}

/**
 * A client of a relay. It reconnects by itself, joins its rooms again, and recovers the missed messages.
 *
 * It dispatches these events. A `Room` dispatches its own events.
 *
 * - `state` when `state` has changed: {`state`, `reason?`, `code?`, `delay?`}
 * - `welcome`, `response`, `presence`, `error` and `bye`, as in the protocol. The client also dispatches `error` with
 *   the code `unsupported` if it has left out preferences that the relay does not know, and with `bad_token` if the
 *   token function returns something else.
 * - `inbox`, `call` and `invitation`, as in the protocol
 * - `frame` for each frame in either direction: {`isOwn`, `text`, `frame`, `answers`}. `answers` is the type of the
 *   request if the frame is a reply.
 *
 * `state` is one of these:
 *
 * - `closed`: not connected, because the app has not called `connect` or has called `close`
 * - `connecting`
 * - `open`: the relay has sent `welcome`
 * - `waiting`: the connection was lost, and the client will reconnect
 * - `refused`: the client does not reconnect until `connect` is called. `reason` has the cause.
 *
 * The client retries a failed handshake. It then requests the reason over HTTP, and reports it with an `error` event
 * {`code`, `message`} if it finds one. The code is the relay's, or `handshake`. A lasting refusal over HTTP leads to
 * the state `refused`, for example if the relay's setting `origins` does not list the page. If a proxy changes Host and
 * also serves the page, the client cannot read that refusal: it reports `handshake`, and continues to retry.
 *
 * With the addresses of a cluster's nodes the client finds the leader. After a failed attempt it immediately tries the
 * leader that the node names, or else the next address, and each address at most once. It waits only after that. It
 * leaves a node that does not answer a request for 4 s, or for longer on a slow line. It connects only to the given
 * addresses.
 *
 * All durations are in seconds, as in the protocol. `stillwire.d.ts` describes each option.
 */
export class Stillwire extends EventTarget {
  state = 'closed'
  reason = ''
  /** The user of the session, from the welcome. Is empty before the first welcome. */
  user = ''
  #options
  #clock
  #page
  #addresses
  /** The current round of attempts. */
  #round
  #connection = null
  #rooms = new Map()
  #joins = new JoinQueue((room, done) => room[join](done))
  #waiting = 0
  /** The number of failures of the backoff. */
  #attempt = 0
  /** True if the last session was silent: perhaps a large frame was on its way. */
  #wasSilent = false
  /** The number of handshakes that failed since the last welcome. */
  #failures = 0
  /** The number of times that the client was stopped, by `close` or a refusal. */
  #stops = 0
  #welcomedAt = null
  /** The relay's `clock` in milliseconds at the start of the clock's `elapsed`, by the newest welcome. Is NaN before. */
  #relayStart = NaN
  #comeBack = 0
  #isExpired = false
  /** The names of the preferences that the relay knows, from the welcome. */
  #preferences
  #isSuspended = false
  #isActivityChosen = false
  #activity = 'active'
  /** The activity that the relay knows. */
  #stated
  #focus
  #watches
  #inbox = new InboxPlace()
  #unwatch = null
  /** The newest reason of a failed handshake that was reported. */
  #reported = ''
  #link

  constructor(urls, options = {}) {
    super()
    const { WebSocket = globalThis.WebSocket, clock = ownClock, timeout = 15, outbox = 100 } = options
    const { page = globalThis.document ? globalThis : null, random = Math.random, fetch = globalThis.fetch } = options
    if (!WebSocket) {
      const node = globalThis.process?.version ? ` (Node has one from version 22 on, and this is ${process.version})` : ''
      throw new TypeError(`no global WebSocket${node}: pass the class of the package ws in the option WebSocket`)
    }
    this.#options = { ...options, WebSocket, clock, timeout: 1000 * timeout, fetch }
    this.#addresses = new Addresses(urls, () => clock.elapsed())
    this.#clock = clock
    this.#page = page
    this.#link = {
      clock,
      stopwatch: () => this.#stopwatch(),
      user: () => this.user,
      isOpen: () => this.state === 'open',
      isRefused: () => this.state === 'refused',
      ask: (type, fields, settle) => {
        const answered = (error, reply) => this.#answered(type, fields, settle, error, reply)
        if (this.#connection) this.#connection.ask(type, fields, answered)
        else settle(closed())
      },
      notify: (type, fields) => this.notify(type, fields),
      random,
      delay: (attempt, retryAfter, jitter) => reconnectDelay(attempt, retryAfter, random, jitter),
      reserve: () => this.#waiting < outbox && ++this.#waiting > 0,
      release: () => (this.#waiting -= 1),
      has: (room) => this.#rooms.get(room.name)?.isWanted === true && this.#rooms.get(room.name).room === room,
      adopt: (room) => this.#adopt(room),
      forget: (room) => this.#rooms.delete(room.name),
      joins: this.#joins,
    }
    this.#focus = new FocusReport(this.#link)
    this.#watches = new Watches(this.#link, {
      received: (frame) => this.#received(frame),
      refused: ({ code, message }) => this.#dispatch('error', { type: 'error', code, message, temporary: false }),
    })
  }

  /** Connects, and reconnects until `close`. While the client waits, it connects immediately. */
  connect() {
    if (this.#connection) return
    if (this.state !== 'waiting') this.#attempt = this.#failures = 0
    this.#unwatch ??= this.#page ? watchPage(this.#page, this.#clock, this.#pageListener()) : null
    this.#open()
  }

  /** Closes the client, and rejects waiting sends. After code 1000 the relay shows the person as away immediately. */
  close(code = 1000, reason = '') {
    this.#stop()
    const connection = this.#connection
    this.#connection = null
    connection?.close(code, reason)
    this.#watches.stop()
    for (const room of this.#joinedRooms()) room[lost]()
    this.#become('closed')
    this.#finish()
  }

  /**
   * Sends a request and resolves with its reply. Rejects with a `StillwireError`. Its code is `closed` if the
   * connection ended before the reply, and the request may have taken effect. Users of an accepted `watch` are watched
   * again after each reconnect, until `unwatch`.
   */
  request(type, fields = {}) {
    fields = this.#known(type, fields)
    return new Promise((resolve, reject) => {
      const settled = this.#watches.requested(type, fields)
      this.#link.ask(type, fields, (error, reply) => {
        if (error?.code !== 'timeout') settled(!error)
        if (error) reject(error)
        else resolve(reply)
      })
    })
  }

  /**
   * Lists the rooms of the user, those with the newest activity first. `after` is the `next` of the page before, and
   * `since` the `position` of an earlier page.
   */
  rooms(page = {}) {
    return this.request('rooms', page)
  }

  /** Lists the open invitations of the user, newest first. `after` is the `next` of the page before. */
  invitations(page = {}) {
    return this.request('invitations', page)
  }

  /** Makes the user a member of a room to which the user is invited. */
  acceptInvitation(room) {
    return this.request('acceptInvitation', { room })
  }

  /** Ends an invitation. The inviter gets no event. Has no effect without an invitation. */
  declineInvitation(room) {
    return this.request('declineInvitation', { room })
  }

  /** Rings for all members of a room, or answers the call that rings there. The `seq` of the reply names the call. */
  ring(room, options = {}) {
    return this.request('ring', { ...options, room })
  }

  /** Answers a call. The ringing ends on all other devices of the user. */
  answer({ room, seq }) {
    return this.request('answer', { room, seq })
  }

  /** Declines a call on all devices of the user. */
  decline({ room, seq }) {
    return this.request('decline', { room, seq })
  }

  /**
   * Leaves a call, or cancels the user's own call before anybody answers. Fails with `conflict` if another device of the
   * user has answered, unless `device` names it, or it answered in a session and has no open session any more.
   */
  hangUp({ room, seq }, { device } = {}) {
    return this.request('hangup', { room, seq, device })
  }

  /** Reads a call. */
  call({ room, seq }) {
    return this.request('call', { room, seq })
  }

  /** Lists the calls of a room, newest first: at most 20, with a lower seq than `before`. */
  calls(room, page = {}) {
    return this.request('calls', { ...page, room })
  }

  /** Sets the status of the user, or ends it with null. Resolves with the status that presence shows from now on. */
  async setStatus(status) {
    const { text, emoji, until } = status ?? {}
    return (await this.request('status', { text, emoji, until })).status
  }

  /** Sends a request that needs no reply. Does nothing without a connection. */
  notify(type, fields = {}) {
    this.#connection?.notify(type, this.#known(type, fields))
  }

  /**
   * The room of this name, always the same object while it is joined. `history` is the number of newest messages that
   * the first join requests.
   */
  room(name, { history = 0 } = {}) {
    const known = this.#rooms.get(name)
    if (known) return known.room
    const room = new Room(this.#link, name, history)
    this.#rooms.set(name, { room, isWanted: false })
    return room
  }

  /**
   * Sets the activity of the person: `active`, `idle` or `background`. With null the page determines it again. After
   * `background` the client finds out immediately if the connection still works.
   */
  setActivity(state) {
    this.#isActivityChosen = state !== null
    if (state !== null) this.#beActive(state)
    else if (this.#unwatch) {
      this.#unwatch()
      this.#beActive('active')
      this.#unwatch = watchPage(this.#page, this.#clock, this.#pageListener())
    }
  }

  /**
   * Reports this device's Focus: true, false, or null for unknown. Without a connection the report waits for the next
   * welcome. A newer report replaces it, also that of another tab or of an extension of the app.
   */
  setFocus(isFocused, fields = {}) {
    return this.#focus.set(isFocused, fields)
  }

  #open() {
    this.#clock.clearTimeout(this.#comeBack)
    this.#round = this.#addresses.round()
    this.#become('connecting')
    this.#dial()
  }

  #dial() {
    const { url } = this.#round
    const { areSeveral } = this.#addresses
    const explain = areSeveral && this.#options.fetch ? () => this.#askReason(url) : undefined
    const { delay } = this.#link
    const token = typeof this.#options.token === 'function' ? (about) => this.#newToken(about) : undefined
    const trustAfter = this.#wasSilent ? doubt : 0
    const options = { ...this.#options, url, token, delay, areSeveral, trustAfter, explain }
    const connection = new Connection(options, () => this.#hello(), {
      welcomed: (frame) => this.#welcomed(frame),
      received: (frame) => this.#received(frame),
      framed: (detail) => {
        if (detail.isOwn && detail.frame.type === 'hello') this.#stated = detail.frame.activity
        this.#dispatch('frame', detail)
      },
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
    const given = token == null ? undefined : await this.#newToken({ isExpired })
    const inbox = this.#inbox.hello(fields?.inbox)
    return { acks: true, ...fields, ...(inbox && { inbox }), token: given, activity: this.#activity }
  }

  // Returns a token of the app. Any other text, such as the error page of a proxy, must not reach the relay: it would
  // refuse the client for good.
  async #newToken(about) {
    const { token } = this.#options
    const isFunction = typeof token === 'function'
    const given = isFunction ? await token(about) : token
    if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(given)) return given
    const message = `${isFunction ? 'the result of the token function' : 'the option token'} is not a token: it has no three parts, separated by dots`
    const error = new StillwireError({ code: 'bad_token', message, temporary: isFunction })
    if (isFunction) this.#dispatch('error', { type: 'error', code: error.code, message, temporary: true })
    throw error
  }

  /**
   * Returns a function that returns the milliseconds since this call. The relay's `clock` counts, too: the client's
   * clock may stand still while the computer sleeps.
   */
  #stopwatch() {
    const times = () => [this.#clock.elapsed(), this.#relayStart + this.#clock.elapsed()]
    const start = times()
    // An age is NaN if the relay's `clock` was unknown at the start.
    return () => Math.max(...times().map((time, index) => time - start[index]).filter((age) => age >= 0))
  }

  #welcomed(frame) {
    this.#welcomedAt = this.#clock.elapsed()
    if (Number.isSafeInteger(frame.clock)) this.#relayStart = frame.clock - this.#welcomedAt
    this.#isExpired = false
    this.#failures = 0
    this.#reported = ''
    if (this.#round.succeeded()) this.#attempt = 0
    this.user = frame.user
    this.#preferences = frame.limits?.preferences
    // The client joins the rooms that the app joins in a listener below at once.
    const before = this.#wantedRooms()
    this.#become('open')
    const reset = this.#inbox.welcomed(frame)
    this.#dispatch('welcome', frame)
    if (reset) this.#dispatch('inbox', reset)
    this.#stateActivity()
    this.#focus.send()
    this.#joins.add(...before.filter((known) => this.#rooms.get(known.room.name) === known).map(({ room }) => room))
    this.#watches.opened()
  }

  // Leaves out the preferences that the relay does not know, and reports them with an `error` event.
  #known(type, fields) {
    if (type !== 'preferences' || !Array.isArray(this.#preferences)) return fields
    const unknown = Object.keys(fields).filter((name) => !this.#preferences.includes(name))
    if (!unknown.length) return fields
    const message = `the relay does not know the preferences ${unknown.sort().join(', ')}`
    this.#dispatch('error', { type: 'error', code: 'unsupported', message, temporary: false })
    return Object.fromEntries(Object.entries(fields).filter(([name]) => !unknown.includes(name)))
  }

  #answered(type, fields, settle, error, reply) {
    // The reply to a change of a message has its number. The reply to `join` is a matter of the room.
    if (reply?.change !== undefined && type !== 'join') {
      this.#rooms.get(reply.room)?.room[changed](reply.change, requestedChange(type, fields))
    }
    settle(error, reply)
  }

  #received(frame) {
    if (frame.type === 'presence') for (const room of this.#joinedRooms()) room[received](frame)
    if (frame.type === 'inbox') this.#inbox.received(frame)
    const joined = this.#rooms.get(frame.room)
    if (joined?.isWanted && !ofUser.has(frame.type)) joined.room[received](frame)
    else if (events.has(frame.type)) this.#dispatch(frame.type, frame)
  }

  #ended({ code, reason, bye, error, refusal: answer, isUnopened, isSilent, found }) {
    this.#connection = null
    this.#watches.stop()
    for (const room of this.#joinedRooms()) room[lost]()
    const last = bye?.code ?? code
    if (last === expired) this.#isExpired = true
    // The relay would refuse the same token again.
    const isSpent = last === expired && typeof this.#options.token === 'string'
    if (bye?.reconnect === false || !comesBack(last) || error?.isTemporary === false || isSpent) {
      return this.#refuse(last, refusal(last, bye?.reason ?? reason, answer))
    }
    if (isSilent) this.#round.avoid()
    const isAttempt = this.#welcomedAt === null
    const mayGoOn = isAttempt && !error && !found?.isFinal && mayTryNext(last)
    if (mayGoOn && this.#round.next(found?.leader, found?.isStandby)) {
      if (!this.#isSuspended) return this.#dial()
    }
    const delay = this.#delay(code, bye)
    if (!isAttempt) this.#wasSilent = Boolean(isSilent)
    this.#welcomedAt = null
    if (isUnopened && !this.#addresses.areSeveral) this.#explain()
    if (this.#isSuspended) return this.#become('waiting')
    this.#comeBack = this.#clock.setTimeout(() => this.#open(), delay)
    const stops = this.#stops
    this.#become('waiting', { delay: delay / 1000 })
    if (isUnopened && this.#addresses.areSeveral) this.#report(found, ++this.#failures, stops)
  }

  // Returns the delay of the next attempt. A session that ends soon after its welcome counts as a failure, unless the
  // relay has ended it in order. A longer session resets the backoff.
  #delay(code, bye) {
    const isSession = this.#welcomedAt !== null
    const isOrderly = isSession && isHandover(bye)
    if (isOrderly || (isSession && this.#clock.elapsed() - this.#welcomedAt >= steady)) this.#attempt = 0
    const { delay, random } = this.#link
    const handover = isOrderly ? handoverDelay(bye, random) : undefined
    return handover ?? delay(this.#attempt++, bye?.retryAfter, jitterAfter(code, bye))
  }

  #refuse(code, reason) {
    this.reason = reason
    this.#stop()
    this.#become('refused', { code, reason })
    this.#finish(new StillwireError({ code: 'refused', message: reason }))
  }

  #askReason(url) {
    const { fetch } = this.#options
    return handshakeRefusal(url, { fetch, origin: globalThis.document ? globalThis.origin : undefined })
  }

  // Reports why the handshake with the only address failed. It requests the reason after the failures 1, 2, 4 and 8 …
  async #explain() {
    const failures = ++this.#failures
    if (!this.#options.fetch || failures & (failures - 1)) return
    const stops = this.#stops
    this.#report(await this.#askReason(this.#round.url), failures, stops)
  }

  // Reports a reason once. `stops` is the number of stops when the handshake failed.
  #report(found, failures, stops) {
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

  // The client does not retry any more, so all waiting requests end.
  #finish(error) {
    this.#focus.fail()
    for (const { room } of this.#rooms.values()) room[ended](error)
  }

  #adopt(room) {
    const known = this.#rooms.get(room.name)
    if (known && known.room !== room) throw new Error(`another object represents the room ${room.name}`)
    if (known?.isWanted) return false
    this.#rooms.set(room.name, { room, isWanted: true })
    return true
  }

  #wantedRooms() {
    return [...this.#rooms.values()].filter(({ isWanted }) => isWanted)
  }

  #joinedRooms() {
    return this.#wantedRooms().map(({ room }) => room)
  }

  #beActive(state) {
    if (this.#activity === state) return
    const isBack = this.#activity === 'background'
    this.#activity = state
    this.#stateActivity()
    if (isBack) this.#wake()
  }

  // Sends the activity to an open relay that knows another one: it may have changed since `hello`.
  #stateActivity() {
    if (this.state !== 'open' || this.#stated === this.#activity) return
    this.#stated = this.#activity
    this.notify('activity', { state: this.#activity })
  }

  // Finds out if the connection still works, or connects immediately while the client waits.
  #wake() {
    if (this.state === 'waiting' && !this.#isSuspended) this.#open()
    else this.#connection?.probe()
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
        this.#wake()
      },
      networkChanged: (isOnline) => {
        if (isOnline) this.#wake()
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
