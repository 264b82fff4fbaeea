// SPDX-License-Identifier: Apache-2.0
import { Stillwire, isSilenced } from '../client/stillwire.js'
import { call, segment } from './api.js'
import { isBusy, isSameCall } from './call-state.js'
import { responseText } from './categories.js'
import { bodyText, conversationAfter, emptyConversation } from './conversation.js'
import { DeviceCalls } from './device-calls.js'
import { focusOff, isFocus, letsThrough } from './focus.js'
import { invitationsAfter, noInvitations } from './invitations.js'
import { originOf } from './ios.js'
import { PhoneReports } from './phone-reports.js'
import {
  emptyPhone,
  phoneAfter,
  phoneAfterListing,
  phoneAfterOpening,
  phoneAfterReading,
  phoneWithSummary,
  phoneWithout,
  phoneWithoutAccount,
} from './phone.js'
import { PushFeed } from './push-feed.js'
import { noRooms, roomsAfter, unreadOutside } from './room-list.js'
import { Tablet } from './tablet.js'

const device = 'phone'
const acknowledgementInterval = 250
const typingInterval = 3_000
const typingLifetime = 5_000

/**
 * One person of the demo: a connection, a list of rooms, a copy of the open room and a phone. The session joins the
 * open room only. The person dispatches these events:
 *
 * - `change` when visible state has changed
 * - `complaint` when a request has failed, with a sentence as `detail`
 * - `sent` for each message that the relay has stored: {`room`, `seq`, `text`, `push`, `delivery`}
 * - `received` for each new message: {`room`, `seq`, `from`, `body`}
 * - `push` for each push, as the gateway delivered it
 * - `fate` for the delivery of own messages: {`room`, `user`, `seq`, `state`}. `received` and `read` cover all earlier
 *   messages.
 * - `wire` for each frame, call and push: {`kind`, `name`, `text`, `answers`}. `kind` is `sent`, `received`, `http` or
 *   `push`.
 */
export class Person extends EventTarget {
  /** The list of rooms, newest first. See room-list.js. */
  rooms = noRooms
  /** The open invitations, newest first. See invitations.js. */
  invitations = noInvitations
  phone = emptyPhone
  focus = focusOff
  /** True if the person shares the Focus status with the app. */
  isFocusShared = true
  /** The relay's action while this person is silenced: `deliver`, `passive` or `hold`. */
  onFocus = 'deliver'
  /** This person's activity in the open app: `active`, `idle` or `background`. */
  activity = 'active'
  /**
   * The way in which this person left: `closed`, `killed`, `lost` (no network) or `off` (the phone is off). Is null while
   * the app runs.
   */
  departure = null
  /** True if the simulated gateway can deliver to this phone while it is on. */
  isReachable = true
  /** The other people who are signed in on this phone. */
  accounts = []
  /** The calls of the phone. */
  calls
  /** The second device, or null. */
  tablet = null
  #relay
  /** The open room, or null while the list of rooms is shown: {`name`, `room`, `conversation`, …}. */
  #chat = null
  /** The rooms that were opened, by name. */
  #chats = new Map()
  /** The names of the other users that this person has seen in a room, if they have one. */
  #people = new Map()
  #names
  /** The relay's time at the start of `performance.now()`, in milliseconds. */
  #start = performance.timeOrigin
  #pushes
  #isRegistered = false
  /** The number of events about invitations. */
  #invitationEvents = 0
  #sending = new Set()
  #acknowledging = 0
  #typingAt = -Infinity
  #reports
  #hasKept = false
  /** Resolves when the phone has a network. */
  #network = Promise.resolve()
  #networkReturned = () => {}
  /** The phone's report keys by account, for its extensions. The relay issues one at each registration. */
  #reportKeys = new Map()
  #hasReportKey = () => {}
  /** Resolves when the relay has issued the first report key. */
  #registration = new Promise((resolve) => (this.#hasReportKey = resolve))

  /** `names` has the names of all people, by user. `home` is the room of all people of this place. */
  constructor({ user, home, names, hasTablet }) {
    super()
    Object.assign(this, { user, name: names.get(user), home, me: { user, device } })
    this.#names = names
    const url = new URL('v1/connect', document.baseURI)
    url.protocol = url.protocol.replace('http', 'ws')
    this.#relay = new Stillwire(url, { hello: { user, name: this.name, device, inbox: true } })
    // Several people share this page, so its visibility does not determine one person's activity.
    this.#relay.setActivity(this.activity)
    this.calls = new DeviceCalls(this.#relay, this.me, {
      now: () => this.now,
      isLetThrough: ({ from }) => letsThrough(this.focus, from),
      send: (request, { room, seq }) =>
        this.#callOfExtension('POST', `v1/rooms/${segment(room)}/calls/${seq}/${request}`),
      changed: () => this.#callChanged(),
      complain: (detail) => this.#complain(detail),
    })
    if (hasTablet) this.tablet = new Tablet(this, url)
    this.#pushes = new PushFeed(this.#token, (push) => this.#ring(push, true), (list) => this.#catchUp(list))
    this.#restore()
    this.#listen()
    for (const event of ['pagehide', 'pageshow']) {
      addEventListener(event, () => this.departure === 'off' && this.#reach(event === 'pagehide'))
    }
  }

  /** The relay's time. Until the first `welcome`, that of this computer. A step of its clock does not change it. */
  get now() {
    return performance.now() + this.#start
  }

  /** The state of the connection, as `Stillwire` names it. */
  get connection() {
    return this.#relay.state
  }

  /** The reason of the refusal, if `connection` is `refused`. */
  get refusal() {
    return this.#relay.reason
  }

  /** The name of the open room. Is null while the list of rooms is shown. */
  get room() {
    return this.#chat?.name ?? null
  }

  /** The entry of the open room in the list of rooms. Is undefined before the relay has listed the room. */
  get roomEntry() {
    return this.rooms.find(({ room }) => room === this.room)
  }

  get conversation() {
    return this.#chat?.conversation ?? emptyConversation
  }

  /** Users who are typing in the open room now. */
  get typists() {
    return this.#chat?.typists ?? new Set()
  }

  /** The presence entries of the open room, by user. */
  get presence() {
    return this.#chat?.room.presence.members ?? {}
  }

  /** The presence entries of all other people in the open room. */
  get others() {
    return Object.values(this.presence).filter(({ user }) => user !== this.user)
  }

  /** All other users that this person has seen in a room. */
  get people() {
    return [...this.#people.keys()]
  }

  /** The number of unread messages in the rooms that are not open. */
  get unread() {
    return unreadOutside(this.rooms, this.room)
  }

  /** True if this person sees the conversation now, so that new messages are read. */
  get isLooking() {
    return this.#chat?.room.isJoined === true && this.activity === 'active'
  }

  get isLocked() {
    return this.departure !== null || this.activity === 'background'
  }

  /** The seq of this person's newest message, if a silenced recipient is away. Notify Anyway is offered for it. */
  get quietSeq() {
    const own = this.conversation.messages.findLast(({ from }) => from === this.user)
    const isQuiet = (user) => isSilenced(this.presence[user]) && !this.presence[user].online
    return this.#chat?.quiet.get(own?.seq)?.some(isQuiet) ? own.seq : null
  }

  nameOf(user) {
    return this.#names.get(user) ?? this.presence[user]?.name ?? this.#people.get(user) ?? user
  }

  connect() {
    if (!this.#relay.user && !this.#chat) this.open(this.home)
    this.#relay.connect()
  }

  /** Opens a room: joins it, and leaves the room that was open. */
  open(name) {
    if (name === this.room) return
    this.#leaveRoom()
    const known = this.#chats.get(name) ?? { name, conversation: emptyConversation, quiet: new Map() }
    const chat = Object.assign(known, { typists: new Set(), typing: new Map(), historySeq: null })
    // The join returns the newest messages again.
    chat.conversation = { ...chat.conversation, messages: [] }
    chat.room = this.#relay.room(name, { history: 50 })
    this.#chats.set(name, chat)
    this.#chat = chat
    this.#listenTo(chat)
    // Events report the result.
    chat.room.join().catch(() => {})
    this.#changed()
  }

  /** Shows the list of rooms. This person stays a member of the room, and gets events `inbox` about it. */
  showRooms() {
    this.#leaveRoom()
    this.#listRooms()
    this.#changed()
  }

  /** Opens the one room with this user. The relay creates it for the first of both. */
  async openDirect(user) {
    const reply = await this.#insist('The room was not opened', () => this.#relay.request('direct', { user }))
    if (reply) this.#openNew(reply.room)
  }

  async createGroup(title) {
    const fields = { kind: 'group', title, members: this.people, key: randomKey() }
    const reply = await this.#insist('The group was not created', () => this.#relay.request('create', fields))
    if (reply) this.#openNew(reply.room)
  }

  /** Becomes a member of a room, and opens it. Resolves with true, or undefined if a complaint has reported an error. */
  async acceptInvitation(room) {
    const accept = () => this.#relay.acceptInvitation(room)
    const reply = await this.#answerInvitation('The invitation was not accepted', accept, { type: 'ended', room })
    if (!reply) return undefined
    this.#openNew(room)
    return true
  }

  declineInvitation(room) {
    const decline = () => this.#relay.declineInvitation(room)
    return this.#answerInvitation('The invitation was not declined', decline, { type: 'ended', room })
  }

  /** Blocks a user, which ends all invitations by this user. */
  block(user) {
    const block = () => this.#relay.request('block', { users: [user] })
    return this.#answerInvitation(`${this.nameOf(user)} was not blocked`, block, { type: 'blocked', user })
  }

  /** Changes the title of the open room. */
  async rename(title) {
    const { room } = this
    const reply = await this.#insist('The title was not changed', () => this.#relay.request('update', { room, title }))
    if (reply) this.#list({ type: 'titled', room, title: reply.title })
  }

  /** Rings for the other people of the open room. */
  async ring() {
    const { room } = this
    this.calls.dismiss()
    const push = { category: 'demo.call' }
    const reply = await this.calls.ring(room, { body: { text: 'Call' }, push, key: randomKey() })
    if (!reply || reply.duplicate) return
    this.#dispatch('sent', { room, seq: reply.seq, text: 'Call', push: { kind: 'call' }, delivery: reply.delivery })
  }

  /** Leaves the app. Only `closed` ends the session cleanly. The relay treats the others as a lost connection. */
  leave(departure) {
    this.departure = departure
    if (!isBusy(this.calls.call)) this.calls.dismiss()
    if (this.#isCutOff) this.#network = new Promise((resolve) => (this.#networkReturned = resolve))
    if (departure === 'closed') this.#relay.close(1000, 'away')
    else this.#relay.close(3000, departure)
    if (departure === 'off') this.#reach()
    this.#mindPhone()
    this.#changed()
  }

  /** Switches the phone on. The app does not run yet. */
  switchOn() {
    this.departure = 'closed'
    this.#networkReturned()
    this.#reach()
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
      this.#call('POST', this.#path('notifications'), { body: { from: 'tea-shop', push } })
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
  say(text, push = { category: 'demo.message' }, quote) {
    const mentions = this.people.filter((user) => text.includes(`@${this.nameOf(user)}`))
    const { now } = this
    const draft = { key: randomKey(), body: { text }, push, quote, time: now, ...(mentions.length && { mentions }) }
    const chat = this.#chat
    this.#typingAt = -Infinity
    this.#converse({ type: 'composed', draft }, chat)
    return this.#send(draft, chat)
  }

  /** Sends a refused draft again, with the same key. */
  retry(key) {
    const draft = this.conversation.drafts.find((other) => other.key === key)
    if (!draft) return
    this.#converse({ type: 'retried', key }, this.#chat)
    this.#send(draft, this.#chat)
  }

  /** Sends a typing signal, at a limited rate. Called at each change of the composer's text. */
  typing(isTyping) {
    const now = performance.now()
    if (isTyping ? now - this.#typingAt < typingInterval : this.#typingAt < 0) return
    this.#typingAt = isTyping ? now : -Infinity
    this.#chat.room.signal('typing', { isTyping })
  }

  async notifyAnyway(seq) {
    const { room, quiet } = this.#chat
    quiet.clear()
    this.#changed()
    await this.#insist('Notify Anyway failed', () => room.notify(seq))
  }

  /** Reports a response to a notification, as an app in the background does: over HTTP, without a socket. */
  async respond(notification, action, text) {
    this.phone = phoneWithout(this.phone, notification)
    this.#changed()
    const request = { 'demo.call.accept': 'answer', 'demo.call.decline': 'decline' }[action]
    const { message, recipient } = notification
    if (request && recipient === this.user) return this.#respondToCall(notification, request)
    const path = request
      ? `v1/rooms/${segment(message.room)}/calls/${message.seq}/${request}`
      : `v1/notifications/${notification.notification}/responses`
    const body = request ? undefined : { action, text }
    await this.#insist('The relay did not accept the response', () =>
      this.#callOfExtension('POST', path, body, recipient)
    )
  }

  /** Sets if the simulated gateway can deliver to this phone. */
  async setReachable(isReachable) {
    this.isReachable = isReachable
    await this.#reach()
    await this.#insist('The gateway did not change', async () => this.tablet?.setReachable(isReachable))
  }

  /** Signs another person in on this phone, or out, as an app with several accounts does. */
  async setAccount(user, isSignedIn) {
    this.accounts = isSignedIn ? [...this.accounts, user] : this.accounts.filter((other) => other !== user)
    if (!isSignedIn) this.phone = phoneWithoutAccount(this.phone, user)
    this.#keep()
    this.#changed()
    if (isSignedIn) return this.#signIn(user)
    const signOut = () => this.#call('DELETE', this.#account(user), { user })
    await this.#insist(`${this.nameOf(user)} was not signed out`, signOut)
  }

  // Reports to the gateway if it can deliver to this phone. A closed page leaves no phone off, because the relay would
  // retry for a month.
  async #reach(isOn = this.departure !== 'off') {
    const body = { isReachable: this.isReachable && isOn }
    const path = `v1/simulator/devices/${this.#token}`
    await this.#insist('The gateway did not change', () => call('PUT', path, { user: this.user, body, keepalive: true }))
  }

  async #signIn(user) {
    const body = { platform: 'simulator', token: this.#token }
    const request = () => this.#call('PUT', this.#account(user), { user, body })
    const reply = await this.#insist(`${this.nameOf(user)} was not signed in`, request)
    if (reply) this.#reportKeys.set(user, reply.reportKey)
  }

  /** The path of this phone as a device of another account. */
  #account(user) {
    return `v1/users/${segment(user)}/devices/phone-of-${this.name.toLowerCase()}`
  }

  get #isCutOff() {
    return ['lost', 'off'].includes(this.departure)
  }

  // A notification of a call that the Focus silenced is answered on the lock screen.
  async #respondToCall({ message, sender }, request) {
    this.calls.adopt({ ...message, from: sender })
    await this.calls.act(request)
    if (request !== 'answer') return
    this.open(message.room)
    this.comeBack()
  }

  #listen() {
    const on = (type, act) => this.#relay.addEventListener(type, ({ detail }) => act(detail))
    on('state', () => this.#changed())
    on('welcome', (frame) => this.#welcomed(frame))
    on('frame', ({ isOwn, text, frame, answers }) => this.#wire(isOwn ? 'sent' : 'received', frame.type, text, answers))
    on('error', ({ code, message }) => {
      this.#complain(code === 'handshake' ? `No connection yet: ${message}` : `The relay reports ${code}: ${message}`)
    })
    on('response', ({ room, seq, user, action }) => {
      const text = responseText(action)
      if (text) this.#converse({ type: 'response', seq, user, text }, this.#chats.get(room))
    })
    on('inbox', ({ event, position, type, ...entry }) => {
      if (event === 'reset') this.#listRooms(true)
      else this.#list({ type: event, room: entry.room, entry })
    })
    on('invitation', ({ event, type, ...invitation }) => {
      this.#invitationEvents += 1
      this.#invite({ type: event, room: invitation.room, invitation })
    })
    on('room', (event) => this.#roomChanged(event))
    on('call', (event) => this.#chronicle(event))
  }

  #listenTo(chat) {
    const on = (type, act) => chat.room.addEventListener(type, ({ detail }) => act(detail))
    on('joined', (reply) => this.#joined(chat, reply))
    on('reset', () => this.#converse({ type: 'reset' }, chat))
    on('left', ({ code, message }) => {
      if (this.#chat === chat) this.#chat = null
      if (code !== 'removed') this.#complain(`${this.name} is not in the room: ${message}`)
      this.#changed()
    })
    on('message', (message) => this.#hear(chat, { type: 'message', ...message }))
    for (const type of ['edited', 'deleted', 'delivery', 'receipt']) on(type, (frame) => this.#hear(chat, frame))
    on('room', (event) => this.#roomChanged(event))
    on('presence', () => {
      for (const { user, name, online } of this.others) {
        this.#people.set(user, name ?? this.#people.get(user))
        if (!online) this.#showTyping(chat, user, false)
      }
      this.#changed()
    })
    on('signal', ({ from, name, body }) => {
      if (name === 'typing' && from !== this.user) this.#showTyping(chat, from, body?.isTyping !== false)
    })
  }

  #welcomed({ time, invitations = 0 }) {
    this.#start = time - performance.now()
    // After a reconnect the relay sends the missed changes as events.
    if (this.rooms === noRooms) this.#listRooms()
    // The relay does not repeat the missed events about invitations.
    if (invitations > 0) this.#listInvitations()
    else this.#invite({ type: 'listed', invitations: noInvitations })
    this.#register()
  }

  async #listRooms(isReset = false) {
    const reply = await this.#insist('The rooms were not listed', () => this.#relay.rooms())
    if (reply) this.#list({ type: 'listed', rooms: reply.rooms, isReset: isReset || reply.reset === true })
  }

  async #listInvitations() {
    // An event that arrives before the reply can be newer than the reply.
    for (let events; events !== this.#invitationEvents; ) {
      events = this.#invitationEvents
      const reply = await this.#insist('The invitations were not listed', () => this.#relay.invitations({ limit: 100 }))
      if (!reply) return
      if (events === this.#invitationEvents) this.#invite({ type: 'listed', invitations: reply.invitations })
    }
  }

  async #answerInvitation(complaint, act, change) {
    const reply = await this.#insist(complaint, act)
    if (reply) this.#invite(change)
    return reply
  }

  #invite(input) {
    this.invitations = invitationsAfter(this.invitations, input)
    this.#changed()
  }

  #list(input) {
    this.rooms = roomsAfter(this.rooms, input)
    this.#changed()
  }

  #roomChanged({ event, room, title }) {
    if (event === 'updated') this.#list({ type: 'titled', room, title })
  }

  // The list has no entry of a new room that is open, because the relay sends no event `inbox` about it.
  #openNew(room) {
    this.open(room)
    this.#listRooms()
  }

  #leaveRoom() {
    if (!this.#chat) return
    this.#markRead(this.#chat)
    this.#chat.room.leave({ stay: true }).catch(() => {})
    this.#chat = null
  }

  // Adds the state of a call to the conversation.
  #chronicle(event) {
    const chat = this.#chats.get(event.room)
    if (chat) this.#converse({ type: 'call', call: event }, chat)
  }

  #callChanged() {
    const { call } = this.calls
    const rung = this.phone.call
    const isRinging = call.phase === 'ringing' && isSameCall(call, rung?.message)
    if (rung && !isRinging) this.phone = phoneWithout(this.phone, rung)
    // The lock screen shows the end of a call as a notification.
    if (call.phase === 'over' && this.isLocked) return this.calls.dismiss()
    this.#acknowledge()
    this.#changed()
  }

  // Registers the phone at each welcome, as an app does at each launch: the relay may have forgotten the token.
  async #register() {
    const wish = { device, platform: 'simulator', token: this.#token }
    const reply = await this.#insist('The phone was not registered', () => this.#relay.request('device', wish))
    if (reply) {
      this.#reportKeys.set(this.user, reply.reportKey)
      this.#isRegistered = true
      this.#hasReportKey()
    }
    for (const user of this.accounts) this.#signIn(user)
    this.#mindPhone()
    // After a restart of the relay its simulated gateway delivers to all phones.
    this.setReachable(this.isReachable)
    this.#report()
    const known = await this.#call('GET', this.#path('preferences')).catch(() => null)
    if (known) this.heardOfPreference(known.onFocus)
  }

  // While the person uses the app, the phone needs no pushes.
  #mindPhone() {
    const isInUse = this.departure === null && this.activity === 'active'
    this.#pushes.follow(this.#isRegistered && !isInUse && !this.#isCutOff)
  }

  #joined(chat, reply) {
    chat.historySeq ??= reply.seq
    // This person has chosen a Focus in another tab. The relay does not know which one, so the phone uses Do Not
    // Disturb.
    if (!this.#hasKept && isSilenced(reply.members?.find(({ user }) => user === this.user))) {
      this.focus = { ...this.focus, mode: 'dnd' }
      this.#reports.told = { ...this.#reports.told, focus: '{"isFocused":true}' }
    }
    this.#hasKept = true
    this.#converse({ type: 'joined', reply }, chat)
    for (const draft of chat.conversation.drafts) if (!draft.isFailed) this.#send(draft, chat)
    this.#acknowledge()
    if (!this.roomEntry) this.#listRooms()
    this.#relay.calls(chat.name).then(
      ({ calls }) => {
        for (const call of calls) this.#converse({ type: 'call', call }, chat)
      },
      () => {}
    )
  }

  #hear(chat, frame) {
    if (frame.type === 'receipt' && frame.user === this.user) {
      if (frame.kind === 'read') this.#converse({ type: 'read', seq: frame.seq }, chat)
      return
    }
    if (frame.type === 'delivery') this.#dispatch('fate', frame)
    if (frame.type === 'receipt') this.#dispatch('fate', { ...frame, state: frame.kind })
    this.#converse(frame, chat)
    if (frame.type !== 'message') return
    const { seq, from, time, body, deleted } = frame
    if (!deleted) this.#list({ type: 'said', room: chat.name, seq, time, from, preview: bodyText(body) })
    if (seq > chat.historySeq) this.#dispatch('received', frame)
    if (from === this.user) return
    this.#showTyping(chat, from, false)
    this.#acknowledge()
  }

  // Each attempt has the same key, so the relay stores one message.
  async #send({ key, body, push, mentions, quote }, chat) {
    if (this.#sending.has(key)) return
    this.#sending.add(key)
    try {
      const reply = await chat.room.send(body, { key, push, mentions, replyTo: quote?.seq, report: true })
      // Notify Anyway is offered only for the newest message.
      chat.quiet = new Map([[reply.seq, reply.delivery?.quiet ?? []]])
      this.#converse({ type: 'sent', key, reply }, chat)
      this.#dispatch('sent', { room: chat.name, seq: reply.seq, text: body.text, push, delivery: reply.delivery })
    } catch (error) {
      // The person has left the app or the room: the draft waits for the next join.
      if (error.code === 'closed') return
      this.#converse({ type: 'refused', key }, chat)
      this.#complain(`The relay did not accept the message: ${error.message}`)
    } finally {
      this.#sending.delete(key)
    }
  }

  // Sends one read mark for all messages of a short interval.
  #acknowledge() {
    this.#acknowledging ||= setTimeout(() => {
      this.#acknowledging = 0
      if (this.#chat) this.#markRead(this.#chat)
    }, acknowledgementInterval)
  }

  #markRead(chat) {
    const { call } = this.calls
    // A call that rings must stay unread, because the relay does not push a read message.
    const isRinging = (seq) => call.phase === 'ringing' && isSameCall(call, { room: chat.name, seq })
    const isMeant = ({ from, seq }) => from !== this.user && !isRinging(seq)
    const seq = chat.conversation.messages.findLast(isMeant)?.seq ?? 0
    if (!this.isLooking || seq <= chat.conversation.read) return
    chat.room.read(seq)
    this.#converse({ type: 'read', seq }, chat)
  }

  #catchUp(list) {
    for (const push of list.notifications) this.#ring(push, false)
    this.phone = phoneAfterListing(this.phone, list)
    this.#changed()
  }

  #ring(push, isLive) {
    const { focus, now } = this
    const { message, aps } = push.payload
    const isOfKnownCall = aps?.['interruption-level'] !== 'passive' && this.calls.knows(message)
    const readUpTo = this.#readUpTo(this.#chats.get(message?.room))
    const phone = isOfKnownCall ? this.phone : phoneAfter(this.phone, push, { focus, readUpTo, now })
    if (!isLive && phone === this.phone) return
    const rung = this.phone.call
    this.phone = phone
    if (phone.call && phone.call !== rung) {
      const { message: call, sender, until } = phone.call
      this.calls.take({ event: 'ring', ...call, from: sender, ringUntil: until })
    } else if (rung && !phone.call && isSameCall(this.calls.call, rung.message)) {
      this.calls.dismiss()
    }
    this.#wire('push', 'push', JSON.stringify(push))
    this.#dispatch('push', push)
    this.#changed()
    // A notification service extension sends the receipt to confirm the arrival.
    const { recipient: user, notification, receipt } = originOf(push.payload)
    const path = `v1/notifications/${notification}/received`
    if (receipt && phone.hasExtension) this.#call('POST', path, { user, body: { receipt } }).catch(() => {})
  }

  async #report() {
    await this.#insist('The relay did not accept the Focus', () => this.#reports.tell(this.focus, this.isFocusShared))
    this.#keep()
  }

  #put(what, body) {
    return what === 'preferences'
      ? this.#call('PUT', this.#path(what), { body })
      : this.#callOfExtension('PUT', `v1/users/me/${what}`, body)
  }

  // The phone's extensions authenticate with the report key of the phone, because they have no token of the person.
  async #callOfExtension(method, path, body, account = this.user) {
    await this.#registration
    return this.#call(method, path, { user: account, key: this.#reportKeys.get(account), body })
  }

  #path(what) {
    return `v1/users/${segment(this.user)}/${what}`
  }

  async #call(method, path, options) {
    await this.#network
    return call(method, path, { user: this.user, log: (name, text) => this.#wire('http', name, text), ...options })
  }

  /** Stores the phone's own settings across a reload. */
  #keep() {
    const { focus, isFocusShared, accounts, phone } = this
    const { hasSummary, hasExtension } = phone
    const kept = { focus, isFocusShared, accounts, hasSummary, hasExtension, told: this.#reports.told }
    sessionStorage.setItem(`stillwire.${this.user}`, JSON.stringify(kept))
  }

  #restore() {
    const kept = restored(sessionStorage.getItem(`stillwire.${this.user}`))
    this.#hasKept = kept !== null
    this.focus = kept?.focus ?? focusOff
    this.isFocusShared = kept?.isFocusShared !== false
    this.accounts = (Array.isArray(kept?.accounts) ? kept.accounts : []).filter((user) => this.#names.has(user))
    this.phone = { ...emptyPhone, hasSummary: kept?.hasSummary === true, hasExtension: kept?.hasExtension !== false }
    this.#reports = new PhoneReports(device, this.home, (what, body) => this.#put(what, body), kept?.told)
  }

  #converse(input, chat) {
    if (!chat) return
    chat.conversation = conversationAfter(chat.conversation, input)
    if (chat.room.isJoined) this.phone = phoneAfterReading(this.phone, this.#readUpTo(chat))
    this.#changed()
  }

  get #token() {
    return `${this.user}-phone`
  }

  #readUpTo(chat) {
    const { epoch, read } = chat?.conversation ?? emptyConversation
    return { user: this.user, room: chat?.name, epoch, seq: read }
  }

  #showTyping(chat, user, isTyping) {
    clearTimeout(chat.typing.get(user))
    const end = () => this.#showTyping(chat, user, false)
    if (isTyping) chat.typing.set(user, setTimeout(end, typingLifetime))
    if (chat.typists.has(user) === isTyping) return
    if (isTyping) chat.typists.add(user)
    else chat.typists.delete(user)
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

/** A key that makes a request idempotent. */
function randomKey() {
  return crypto.getRandomValues(new Uint32Array(3)).join('-')
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
