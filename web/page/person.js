// SPDX-License-Identifier: Apache-2.0
import { Stillwire, isSilenced } from '../client/stillwire.js'
import { call, segment } from './api.js'
import { responseText } from './categories.js'
import { conversationAfter, emptyConversation } from './conversation.js'
import { focusOff, isFocus } from './focus.js'
import { pushIDs } from './ios.js'
import { PhoneReports } from './phone-reports.js'
import { emptyPhone, phoneAfter, phoneAfterOpening, phoneAfterReading, phoneWithSummary, phoneWithout } from './phone.js'
import { PushFeed } from './push-feed.js'

const device = 'phone'
const acknowledgementInterval = 250
const typingInterval = 3_000
const typingLifetime = 5_000
const ringing = 45_000

/**
 * One person of the demo: a connection, a copy of the room and a phone. It dispatches these events:
 *
 * - `change` when visible state has changed
 * - `complaint` when a request has failed, with a sentence as `detail`
 * - `sent` for each message that the relay has stored: {`seq`, `text`, `push`, `delivery`}
 * - `received` for each new message: {`seq`, `from`, `body`}
 * - `push` for each push, as the gateway delivered it
 * - `fate` for the delivery of own messages: {`user`, `seq`, `state`}. `received` and `read` cover all earlier
 *   messages.
 * - `wire` for each frame, call and push: {`kind`, `name`, `text`, `answers`}. `kind` is `sent`, `received`, `http` or
 *   `push`.
 */
export class Person extends EventTarget {
  conversation = emptyConversation
  phone = emptyPhone
  focus = focusOff
  /** True if the person shares the Focus status with the app. */
  isFocusShared = true
  /** The relay's action while this person is silenced: `deliver`, `passive` or `hold`. */
  onFocus = 'deliver'
  /** This person's activity in the open app: `active`, `idle` or `background`. */
  activity = 'active'
  /** The way in which this person left: `closed`, `killed` or `lost` (no network). Is null while the app runs. */
  departure = null
  /** True if the simulated gateway can deliver to this phone. */
  isReachable = true
  /** Users who are typing now. */
  typists = new Set()
  #relay
  #room
  #names
  #pushes
  #isRegistered = false
  #sending = new Set()
  #acknowledging = 0
  #quiet = new Map()
  #typingAt = 0
  #typing = new Map()
  /** The message of a call that can ring while this person uses the app. */
  #ringing = null
  #reports
  #hasKept = false
  /** Resolves when the phone has a network. */
  #network = Promise.resolve()
  #networkReturned = () => {}
  /** The phone's report key, for its extensions. The relay issues one at each registration. */
  #reportKey
  #hasReportKey = () => {}
  /** Resolves when the relay has issued the first report key. */
  #registration = new Promise((resolve) => (this.#hasReportKey = resolve))
  /** The seq of the newest message at the first join. */
  #historySeq = null

  /** `names` has the names of all people, by user. */
  constructor({ user, room, names }) {
    super()
    Object.assign(this, { user, name: names.get(user), room })
    this.#names = names
    const url = new URL('v1/connect', document.baseURI)
    url.protocol = url.protocol.replace('http', 'ws')
    this.#relay = new Stillwire(url, { hello: { user, name: this.name, device } })
    // Several people share this page, so its visibility does not determine one person's activity.
    this.#relay.setActivity(this.activity)
    this.#room = this.#relay.room(room, { history: 50 })
    this.#pushes = new PushFeed(this.#token, (push, isLive) => this.#ring(push, isLive))
    this.#restore()
    this.#listen()
  }

  /** The state of the connection, as `Stillwire` names it. */
  get connection() {
    return this.#relay.state
  }

  /** The reason of the refusal, if `connection` is `refused`. */
  get refusal() {
    return this.#relay.reason
  }

  /** The presence entries of the room, by user. */
  get presence() {
    return this.#room.presence.members ?? {}
  }

  /** The presence entries of all other people. */
  get others() {
    return Object.values(this.presence).filter(({ user }) => user !== this.user)
  }

  /** True if this person sees the conversation now, so that new messages are read. */
  get isLooking() {
    return this.#room.isJoined && this.activity === 'active'
  }

  get isLocked() {
    return this.departure !== null || this.activity === 'background'
  }

  /** The seq of this person's newest message, if a silenced recipient is away. Notify Anyway is offered for it. */
  get quietSeq() {
    const own = this.conversation.messages.findLast(({ from }) => from === this.user)
    const isQuiet = (user) => isSilenced(this.presence[user]) && !this.presence[user].online
    return this.#quiet.get(own?.seq)?.some(isQuiet) ? own.seq : null
  }

  nameOf(user) {
    return this.#names.get(user) ?? this.presence[user]?.name ?? user
  }

  connect() {
    // Events report the result.
    this.#room.join().catch(() => {})
    this.#relay.connect()
  }

  /** Leaves the app. Only `closed` ends the session cleanly. The relay treats the others as a lost connection. */
  leave(departure) {
    this.departure = departure
    if (departure === 'lost') this.#network = new Promise((resolve) => (this.#networkReturned = resolve))
    if (departure === 'closed') this.#relay.close(1000, 'away')
    else this.#relay.close(3000, departure)
    this.#mindPhone()
    this.#changed()
  }

  /** Opens the app again. */
  comeBack() {
    this.departure = null
    this.phone = phoneAfterOpening(this.phone)
    this.#networkReturned()
    this.setActivity('active')
    this.connect()
  }

  setActivity(activity) {
    if (this.activity !== activity) {
      this.activity = activity
      this.#relay.setActivity(activity)
      this.#acknowledge()
    }
    this.#mindPhone()
    this.#changed()
  }

  /** Changes the Focus, or its sharing with the app. The phone then reports the difference to the relay. */
  async setFocus(change, isShared = this.isFocusShared) {
    this.focus = { ...this.focus, ...change }
    this.isFocusShared = isShared
    this.#keep()
    this.#changed()
    await this.#report()
  }

  async setOnFocus(onFocus) {
    this.onFocus = onFocus
    this.#changed()
    await this.#insist(`The relay did not save what ${this.name} prefers`, () => this.#put('preferences', { onFocus }))
  }

  /** Takes over a preference that another client of this person has set. */
  heardOfPreference(onFocus) {
    if (this.onFocus === onFocus) return
    this.onFocus = onFocus
    this.#changed()
  }

  setSummary(hasSummary) {
    this.phone = phoneWithSummary(this.phone, hasSummary)
    this.#keep()
    this.#changed()
  }

  /** Installs or removes the app's notification service extension. This affects later pushes. */
  setExtension(hasExtension) {
    this.phone = { ...this.phone, hasExtension }
    this.#keep()
    this.#changed()
  }

  /** Makes a shop send this person a notification that is not a message from a person. */
  async order() {
    const push = { title: 'Tea shop', subtitle: 'Order 1912', body: 'Your Darjeeling is on its way', thread: 'orders' }
    await this.#insist('The relay did not accept the notification', () =>
      this.#call('POST', this.#path('notifications'), { from: 'tea-shop', push })
    )
  }

  /** Delivers the scheduled summary, and starts the next one. */
  deliverSummary() {
    this.phone = phoneWithSummary(phoneWithSummary(this.phone, false), this.phone.hasSummary)
    this.#changed()
  }

  /**
   * Sends a message. Resolves when the relay has stored it, or when a complaint has reported the error. `push` is the
   * field of the protocol's `send`.
   */
  say(text, push = { category: 'demo.message' }) {
    const draft = { key: crypto.getRandomValues(new Uint32Array(3)).join('-'), body: { text }, push, time: Date.now() }
    if (push.kind === 'call') draft.body.isCall = true
    this.#typingAt = 0
    this.#converse({ type: 'composed', draft })
    return this.#send(draft)
  }

  /** Sends a refused draft again, with the same key. */
  retry(key) {
    const draft = this.conversation.drafts.find((other) => other.key === key)
    if (!draft) return
    this.#converse({ type: 'retried', key })
    this.#send(draft)
  }

  /** Sends a typing signal, at a limited rate. Called at each change of the composer's text. */
  typing(isTyping) {
    const now = Date.now()
    if (isTyping ? now - this.#typingAt < typingInterval : this.#typingAt === 0) return
    this.#typingAt = isTyping ? now : 0
    this.#room.signal('typing', { isTyping })
  }

  async notifyAnyway(seq) {
    this.#quiet.clear()
    this.#changed()
    await this.#insist('Notify Anyway failed', () => this.#room.notify(seq))
  }

  /** Reports a response to a notification, as an app in the background does: over HTTP, without a socket. */
  async respond(notification, action, text) {
    this.phone = phoneWithout(this.phone, notification)
    if (!this.phone.call) this.stopRinging()
    this.#changed()
    await this.#insist('The relay did not accept the response', () =>
      this.#callOfExtension('POST', `v1/notifications/${notification.notification}/responses`, { action, text })
    )
  }

  /** Ends a call that has rung for its maximum time or was answered. */
  stopRinging() {
    if (this.phone.call) this.phone = phoneWithout(this.phone, this.phone.call)
    this.#ringing = null
    this.#mindPhone()
    this.#acknowledge()
    this.#changed()
  }

  /** Sets if the simulated gateway can deliver to this phone. */
  async setReachable(isReachable) {
    this.isReachable = isReachable
    const path = `v1/simulator/devices/${this.#token}`
    await this.#insist('The gateway did not change', () => 
      call('PUT', path, { user: this.user, body: { isReachable }, keepalive: true })
    )
  }

  #listen() {
    const on = (type, act, target = this.#relay) => target.addEventListener(type, ({ detail }) => act(detail))
    const onRoom = (type, act) => on(type, act, this.#room)
    on('state', () => this.#changed())
    on('welcome', () => this.#register())
    on('frame', ({ isOwn, text, frame, answers }) => this.#wire(isOwn ? 'sent' : 'received', frame.type, text, answers))
    on('error', ({ code, message }) => {
      this.#complain(code === 'handshake' ? `No connection yet: ${message}` : `The relay reports ${code}: ${message}`)
    })
    on('response', ({ seq, user, action }) => {
      const text = responseText(action)
      if (text) this.#converse({ type: 'response', seq, user, text })
    })
    onRoom('joined', (reply) => this.#joined(reply))
    onRoom('reset', () => this.#converse({ type: 'reset' }))
    onRoom('left', ({ message }) => this.#complain(`${this.name} is not in the room: ${message}`))
    onRoom('message', (message) => this.#hear({ type: 'message', ...message }))
    for (const type of ['edited', 'deleted', 'delivery', 'receipt']) onRoom(type, (frame) => this.#hear(frame))
    onRoom('presence', () => {
      for (const { user, online } of this.others) if (!online) this.#showTyping(user, false)
      this.#changed()
    })
    onRoom('signal', ({ from, name, body }) => {
      if (name === 'typing' && from !== this.user) this.#showTyping(from, body?.isTyping !== false)
    })
  }

  // Registers the phone at each welcome, as an app does at each launch: the relay may have forgotten the token.
  async #register() {
    const wish = { device, platform: 'simulator', token: this.#token }
    const reply = await this.#insist('The phone was not registered', () => this.#relay.request('device', wish))
    if (reply) {
      this.#reportKey = reply.reportKey
      this.#isRegistered = true
      this.#hasReportKey()
    }
    this.#mindPhone()
    // After a restart of the relay its simulated gateway delivers to all phones.
    this.setReachable(this.isReachable)
    this.#report()
    const known = await this.#call('GET', this.#path('preferences')).catch(() => null)
    if (known) this.heardOfPreference(known.onFocus)
  }

  // While the person uses the app, the phone needs no pushes except calls.
  #mindPhone() {
    const isInUse = this.departure === null && this.activity === 'active' && !this.#ringing
    this.#pushes.follow(this.#isRegistered && !isInUse && this.departure !== 'lost')
  }

  #joined(reply) {
    this.#historySeq ??= reply.seq
    // This person has chosen a Focus in another tab. The relay does not know which one, so the phone uses Do Not
    // Disturb.
    if (!this.#hasKept && isSilenced(reply.members?.find(({ user }) => user === this.user))) {
      this.focus = { ...this.focus, mode: 'dnd' }
      this.#reports.told = { ...this.#reports.told, focus: '{"isFocused":true}' }
    }
    this.#hasKept = true
    this.#converse({ type: 'joined', reply })
    for (const draft of this.conversation.drafts) if (!draft.isFailed) this.#send(draft)
    this.#acknowledge()
  }

  #hear(frame) {
    if (frame.type === 'receipt' && frame.user === this.user) {
      if (frame.kind === 'read') this.#converse({ type: 'read', seq: frame.seq })
      return
    }
    if (frame.type === 'delivery') this.#dispatch('fate', frame)
    if (frame.type === 'receipt') this.#dispatch('fate', { ...frame, state: frame.kind })
    this.#converse(frame)
    if (frame.type !== 'message') return
    if (frame.seq > this.#historySeq) this.#dispatch('received', frame)
    if (frame.from === this.user) return
    this.#showTyping(frame.from, false)
    const left = frame.time + ringing - Date.now()
    if (frame.body?.isCall && left > 0) {
      this.#ringing = frame
      setTimeout(() => this.#ringing === frame && this.stopRinging(), left)
      this.#mindPhone()
    }
    this.#acknowledge()
  }

  // Each attempt has the same key, so the relay stores one message.
  async #send({ key, body, push }) {
    if (this.#sending.has(key)) return
    this.#sending.add(key)
    try {
      const reply = await this.#room.send(body, { key, push, report: true })
      // Notify Anyway is offered only for the newest message.
      this.#quiet = new Map([[reply.seq, reply.delivery?.quiet ?? []]])
      this.#converse({ type: 'sent', key, reply })
      this.#dispatch('sent', { seq: reply.seq, text: body.text, push, delivery: reply.delivery })
    } catch (error) {
      // The person has left the app: the draft waits for the next join.
      if (error.code === 'closed') return
      this.#converse({ type: 'refused', key })
      this.#complain(`The relay did not accept the message: ${error.message}`)
    } finally {
      this.#sending.delete(key)
    }
  }

  // Sends one read mark for all messages of a short interval.
  #acknowledge() {
    this.#acknowledging ||= setTimeout(() => {
      this.#acknowledging = 0
      // A call must stay unread, because the relay does not push a read message.
      const isMeant = ({ from, seq }) => from !== this.user && seq !== this.#ringing?.seq
      const seq = this.conversation.messages.findLast(isMeant)?.seq ?? 0
      if (!this.isLooking || seq <= this.conversation.read) return
      this.#room.read(seq)
      this.#converse({ type: 'read', seq })
    }, acknowledgementInterval)
  }

  #ring(push, isLive) {
    const { focus } = this
    const phone = phoneAfter(this.phone, push, { focus, readUpTo: this.#readUpTo, now: Date.now() })
    if (!isLive && phone === this.phone) return
    this.phone = phone
    this.#wire('push', 'push', JSON.stringify(push))
    this.#dispatch('push', push)
    this.#changed()
    // A notification service extension sends the receipt to confirm the arrival.
    const { notification, receipt } = pushIDs(push.payload)
    const path = `v1/notifications/${notification}/received`
    if (receipt && phone.hasExtension) this.#call('POST', path, { receipt }).catch(() => {})
  }

  async #report() {
    await this.#insist('The relay did not accept the Focus', () => this.#reports.tell(this.focus, this.isFocusShared))
    this.#keep()
  }

  #put(what, body) {
    return what === 'preferences'
      ? this.#call('PUT', this.#path(what), body)
      : this.#callOfExtension('PUT', `v1/users/me/${what}`, body)
  }

  // The phone's extensions authenticate with the report key of the phone, because they have no token of the person.
  async #callOfExtension(method, path, body) {
    await this.#registration
    return this.#call(method, path, body, this.#reportKey)
  }

  #path(what) {
    return `v1/users/${segment(this.user)}/${what}`
  }

  async #call(method, path, body, key) {
    await this.#network
    return call(method, path, { user: this.user, key, body, log: (name, text) => this.#wire('http', name, text) })
  }

  /** Stores the phone's own settings across a reload. */
  #keep() {
    const { focus, isFocusShared, phone } = this
    const { hasSummary, hasExtension } = phone
    const kept = { focus, isFocusShared, hasSummary, hasExtension, told: this.#reports.told }
    sessionStorage.setItem(`stillwire.${this.user}`, JSON.stringify(kept))
  }

  #restore() {
    const kept = restored(sessionStorage.getItem(`stillwire.${this.user}`))
    this.#hasKept = kept !== null
    this.focus = kept?.focus ?? focusOff
    this.isFocusShared = kept?.isFocusShared !== false
    this.phone = { ...emptyPhone, hasSummary: kept?.hasSummary === true, hasExtension: kept?.hasExtension !== false }
    this.#reports = new PhoneReports(device, this.room, (what, body) => this.#put(what, body), kept?.told)
  }

  #converse(input) {
    this.conversation = conversationAfter(this.conversation, input)
    if (this.#room.isJoined) this.phone = phoneAfterReading(this.phone, this.#readUpTo)
    this.#changed()
  }

  get #token() {
    return `${this.user}-phone`
  }

  get #readUpTo() {
    return { room: this.room, epoch: this.conversation.epoch, seq: this.conversation.read }
  }

  #showTyping(user, isTyping) {
    clearTimeout(this.#typing.get(user))
    if (isTyping) this.#typing.set(user, setTimeout(() => this.#showTyping(user, false), typingLifetime))
    if (this.typists.has(user) === isTyping) return
    if (isTyping) this.typists.add(user)
    else this.typists.delete(user)
    this.#changed()
  }

  /** Performs an action that can fail. Retries temporary errors, and reports other errors as a complaint. */
  async #insist(complaint, act) {
    for (;;) {
      try {
        return await act()
      } catch (error) {
        if (error.code === 'closed') return undefined
        if (!error.isTemporary) {
          this.#complain(`${complaint}: ${error.message}`)
          return undefined
        }
        await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retryAfter || 1)))
      }
    }
  }

  #changed() {
    this.#dispatch('change')
  }

  #complain(detail) {
    this.#dispatch('complaint', detail)
  }

  #wire(kind, name, text, answers) {
    this.#dispatch('wire', { kind, name, text, answers })
  }

  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }))
  }
}

/** Parses the stored settings. Returns null if they are missing or invalid. */
function restored(text) {
  try {
    const kept = JSON.parse(text)
    return isFocus(kept.focus) && typeof kept.told === 'object' ? kept : null
  } catch {
    return null
  }
}
