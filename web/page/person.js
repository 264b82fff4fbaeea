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
 * One person of the demo: a connection, a copy of the room and a phone.
 *
 * Events: `change` whenever anything to be seen changed; `complaint` (`detail`: a sentence) when a request failed;
 * `sent` ({`seq`, `text`, `push`, `delivery`}) for each message that the relay took; `heard` for each that came since
 * (`seq`, `from`, `body`); `push` (a push as its gateway delivered it); `fate` ({`user`, `seq`, `state`}) of own messages,
 * `state` covering all earlier ones where it is `received` or `read`; and `wire` ({`kind`, `name`, `text`, `answers`}) for
 * everything said to or heard from the relay, `kind` being `sent`, `heard`, `http` or `push`.
 */
export class Person extends EventTarget {
  conversation = emptyConversation
  phone = emptyPhone
  focus = focusOff
  /** Whether the app may know whether its notifications are silenced. */
  isFocusShared = true
  /** What the relay does while this person is silenced: `deliver`, `passive` or `hold`. */
  onFocus = 'deliver'
  /** `active`, `idle` or `background`: what this person does with the open app. */
  activity = 'active'
  /** How this person left: `closed`, `killed` or `lost` (no network); null while they want to be connected. */
  departure = null
  /** Whether the simulated gateway gets to this phone. */
  isReachable = true
  /** Users who write right now. */
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
  /** The message of a call that may ring on the phone of somebody who looks at the app. */
  #ringing = null
  #reports
  #hasKept = false
  /** Resolves once the phone has a network. */
  #network = Promise.resolve()
  #networkReturned = () => {}
  /** The phone's credential for its extensions; the relay issues one at each registration. */
  #reportKey
  /** The newest message that was there when the room was joined first. */
  #historySeq = null

  /** `names` are those of everybody, by user. */
  constructor({ user, room, names }) {
    super()
    Object.assign(this, { user, name: names.get(user), room })
    this.#names = names
    const url = new URL('v1/connect', document.baseURI)
    url.protocol = url.protocol.replace('http', 'ws')
    this.#relay = new Stillwire(url, { hello: { user, name: this.name, device } })
    // Several people share this page, so it is not the page that says what one of them does.
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

  /** Why the relay does not want this person back, when `connection` is `refused`. */
  get refusal() {
    return this.#relay.reason
  }

  /** The presence entries of the room, by user. */
  get presence() {
    return this.#room.presence.members ?? {}
  }

  /** The presence entries of everybody else. */
  get others() {
    return Object.values(this.presence).filter(({ user }) => user !== this.user)
  }

  /** Whether this person sees the conversation right now, so that what arrives is read. */
  get isLooking() {
    return this.#room.isJoined && this.activity === 'active'
  }

  get isLocked() {
    return this.departure !== null || this.activity === 'background'
  }

  /** The seq for which Notify Anyway may be offered: one's newest message, to somebody who is silenced and away. */
  get quietSeq() {
    const own = this.conversation.messages.findLast(({ from }) => from === this.user)
    const isQuiet = (user) => isSilenced(this.presence[user]) && !this.presence[user].online
    return this.#quiet.get(own?.seq)?.some(isQuiet) ? own.seq : null
  }

  nameOf(user) {
    return this.#names.get(user) ?? this.presence[user]?.name ?? user
  }

  connect() {
    // What becomes of it is told by events.
    this.#room.join().catch(() => {})
    this.#relay.connect()
  }

  /** Only `closed` says goodbye; the others look to the relay as if the line had broken. */
  leave(departure) {
    this.departure = departure
    if (departure === 'lost') this.#network = new Promise((resolve) => (this.#networkReturned = resolve))
    if (departure === 'closed') this.#relay.close(1000, 'away')
    else this.#relay.close(3000, departure)
    this.#mindPhone()
    this.#changed()
  }

  /** Opens the app again, wherever it was. */
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

  /** Changes the Focus, or whether the app may know of it, and has the phone report what there is to report. */
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
    await this.#insist(`What ${this.name} prefers was not taken`, () => this.#put('preferences', { onFocus }))
  }

  /** What somebody else has told the relay in this person's name counts here too. */
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

  /** Installs or removes the notification service extension of the app; counts for pushes that come from then on. */
  setExtension(hasExtension) {
    this.phone = { ...this.phone, hasExtension }
    this.#keep()
    this.#changed()
  }

  /** Has a shop send this person a notification that is no message of a person. */
  async order() {
    const push = { title: 'Tea shop', subtitle: 'Order 1912', body: 'Your Darjeeling is on its way', thread: 'orders' }
    await this.#insist('The notification was not taken', () =>
      this.#call('POST', this.#path('notifications'), { from: 'tea-shop', push })
    )
  }

  /** The time of the summary has come: it is shown, and the next one begins. */
  deliverSummary() {
    this.phone = phoneWithSummary(phoneWithSummary(this.phone, false), this.phone.hasSummary)
    this.#changed()
  }

  /** Resolves when the relay has the message, or the visitor is told why not. `push` is that of the protocol's `send`. */
  say(text, push = { category: 'demo.message' }) {
    const draft = { key: crypto.getRandomValues(new Uint32Array(3)).join('-'), body: { text }, push, time: Date.now() }
    if (push.kind === 'call') draft.body.isCall = true
    this.#typingAt = 0
    this.#converse({ type: 'composed', draft })
    return this.#send(draft)
  }

  /** Tries a refused draft again, under the same key. */
  retry(key) {
    const draft = this.conversation.drafts.find((other) => other.key === key)
    if (!draft) return
    this.#converse({ type: 'retried', key })
    this.#send(draft)
  }

  /** Called at every change of the composer's text. */
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

  /** What a person does with a notification, as the app tells it in the background: no socket is opened for it. */
  async respond(notification, action, text) {
    this.phone = phoneWithout(this.phone, notification)
    if (!this.phone.call) this.stopRinging()
    this.#changed()
    await this.#insist('The response was not taken', () =>
      this.#call('POST', `v1/notifications/${notification.notification}/responses`, { action, text })
    )
  }

  /** A call that has rung for long enough is over, whatever the relay says. */
  stopRinging() {
    if (this.phone.call) this.phone = phoneWithout(this.phone, this.phone.call)
    this.#ringing = null
    this.#mindPhone()
    this.#acknowledge()
    this.#changed()
  }

  /** Whether the simulated gateway gets to this phone. */
  async setReachable(isReachable) {
    this.isReachable = isReachable
    const path = `v1/simulator/devices/${this.#token}`
    await this.#insist('The gateway does as before', () => 
      call('PUT', path, { user: this.user, body: { isReachable }, keepalive: true })
    )
  }

  #listen() {
    const on = (type, act, target = this.#relay) => target.addEventListener(type, ({ detail }) => act(detail))
    const onRoom = (type, act) => on(type, act, this.#room)
    on('state', () => this.#changed())
    on('welcome', () => this.#register())
    on('frame', ({ isOwn, text, frame, answers }) => this.#wire(isOwn ? 'sent' : 'heard', frame.type, text, answers))
    on('error', ({ code, message }) => this.#complain(`The relay says ${code}: ${message}`))
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

  // At every welcome, as a phone's app does at every launch: the relay may have forgotten the token.
  async #register() {
    const wish = { device, platform: 'simulator', token: this.#token }
    const reply = await this.#insist('The phone was not registered', () => this.#relay.request('device', wish))
    this.#reportKey = reply?.reportKey ?? this.#reportKey
    this.#isRegistered ||= reply !== undefined
    this.#mindPhone()
    // A relay that has started anew gets to every phone.
    this.setReachable(this.isReachable)
    this.#report()
    const known = await this.#call('GET', this.#path('preferences')).catch(() => null)
    if (known) this.heardOfPreference(known.onFocus)
  }

  // While the conversation is being looked at, nothing comes to the phone that it would show, but calls.
  #mindPhone() {
    const isInUse = this.departure === null && this.activity === 'active' && !this.#ringing
    this.#pushes.follow(this.#isRegistered && !isInUse && this.departure !== 'lost')
  }

  #joined(reply) {
    this.#historySeq ??= reply.seq
    // In another tab they have chosen one; which, is nobody's business but the phone's.
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
    if (frame.seq > this.#historySeq) this.#dispatch('heard', frame)
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

  // The same key every time: however often it takes, the relay stores one message.
  async #send({ key, body, push }) {
    if (this.#sending.has(key)) return
    this.#sending.add(key)
    try {
      const reply = await this.#room.send(body, { key, push, report: true })
      // Only of the newest it may be offered.
      this.#quiet = new Map([[reply.seq, reply.delivery?.quiet ?? []]])
      this.#converse({ type: 'sent', key, reply })
      this.#dispatch('sent', { seq: reply.seq, text: body.text, push, delivery: reply.delivery })
    } catch (error) {
      // Who went away comes back: the draft waits for the next join.
      if (error.code === 'closed') return
      this.#converse({ type: 'refused', key })
      this.#complain(`The relay did not take the message: ${error.message}`)
    } finally {
      this.#sending.delete(key)
    }
  }

  // Reading is told of once for all that came within a moment.
  #acknowledge() {
    this.#acknowledging ||= setTimeout(() => {
      this.#acknowledging = 0
      // A call that was read would not ring.
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
    // As the notification service extension does: it proves by the receipt that it has the push.
    const { notification, receipt } = pushIDs(push.payload)
    const path = `v1/notifications/${notification}/received`
    if (receipt && phone.hasExtension) this.#call('POST', path, { receipt }).catch(() => {})
  }

  async #report() {
    await this.#insist('The Focus was not taken', () => this.#reports.tell(this.focus, this.isFocusShared))
    this.#keep()
  }

  // The phone's extensions have no token of the person, but the report key of the phone.
  #put(what, body) {
    return what === 'preferences'
      ? this.#call('PUT', this.#path(what), body)
      : this.#call('PUT', `v1/users/me/${what}`, body, this.#reportKey)
  }

  #path(what) {
    return `v1/users/${segment(this.user)}/${what}`
  }

  async #call(method, path, body, key) {
    await this.#network
    return call(method, path, { user: this.user, key, body, log: (name, text) => this.#wire('http', name, text) })
  }

  /** What a phone keeps by itself, over a reload. */
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

  /** Does what may be refused: a refusal is shown to the visitor, a temporary one is not taken for an answer. */
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

/** What was kept; null where there is nothing, or nothing of ours. */
function restored(text) {
  try {
    const kept = JSON.parse(text)
    return isFocus(kept.focus) && typeof kept.told === 'object' ? kept : null
  } catch {
    return null
  }
}
