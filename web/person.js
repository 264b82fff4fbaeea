// SPDX-License-Identifier: Apache-2.0
import { conversationAfter, emptyConversation } from './conversation.js'
import { reportFocus } from './focus.js'
import { paced } from './pace.js'
import { emptyPhone, phoneAfter, phoneAfterReading } from './phone.js'
import { isSilenced } from './presence.js'
import { PushFeed } from './push-feed.js'
import { Stillwire } from './stillwire.js'
import { pushHere } from './web-push.js'

const device = 'phone'
const acknowledgementInterval = 250
const typingInterval = 3_000
const typingLifetime = 5_000

/**
 * One person of the demo: a connection, a copy of the room and a phone.
 *
 * Events: `change` whenever anything to be seen changed; `complaint` (`detail`: a sentence) when a
 * request failed; `wire` (`detail`: {`kind`, `name`, `text`, `answers`}) for everything said to or heard
 * from the relay, `kind` being `sent`, `heard`, `http` or `push`.
 */
export class Person extends EventTarget {
  conversation = emptyConversation
  phone = emptyPhone
  /** `active`, `idle` or `background`: what this person does with the open app. */
  activity = 'active'
  /** How this person left: `closed` or `lost`; null while they want to be connected. */
  departure = null
  isPeerTyping = false
  #relay
  #room
  #pushes
  #chosenFocus = null
  #isRegistered = false
  #sending = new Set()
  #acknowledge = paced(acknowledgementInterval, () => this.#acknowledgeNow())
  #quietSeqs = new Set()
  #canNotifyAnyway = true
  #typingAt = 0
  #peerTyping = 0

  constructor({ user, name, peer, room }) {
    super()
    Object.assign(this, { user, name, peer, room })
    const url = new URL('v1/connect', document.baseURI)
    url.protocol = url.protocol.replace('http', 'ws')
    this.#relay = new Stillwire(url, { hello: { user, name, device } })
    // Two people share this page, so it is not the page that says what one of them does.
    this.#relay.setActivity(this.activity)
    this.#room = this.#relay.room(room, { history: 50 })
    this.#pushes = new PushFeed(this.#token, (push, isLive) => this.#ring(push, isLive))
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

  get isFocused() {
    return this.#chosenFocus ?? isSilenced(this.presence[this.user])
  }

  /** Whether this person sees the conversation right now, so that what arrives is read. */
  get isLooking() {
    return this.#room.isJoined && this.activity === 'active'
  }

  /** The seq for which `notify` may be offered: one's newest message, to a peer who is silenced and away. */
  get quietSeq() {
    const peer = this.presence[this.peer]
    const own = this.conversation.messages.findLast(({ from }) => from === this.user)
    const isOffered = this.#canNotifyAnyway && isSilenced(peer) && !peer.online && this.#quietSeqs.has(own?.seq)
    return isOffered ? own.seq : null
  }

  connect() {
    // What becomes of it is told by events.
    this.#room.join().catch(() => {})
    this.#relay.connect()
  }

  /** `closed` says goodbye properly; `lost` looks to the relay as if the network had gone. */
  leave(departure) {
    this.departure = departure
    if (departure === 'closed') this.#relay.close(1000, 'away')
    else this.#relay.close(3000, 'connection lost')
    this.#mindPhone()
    this.#changed()
  }

  /** Opens the app again, wherever it was. */
  comeBack() {
    this.departure = null
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

  /** Has pushes come to this browser as well, if whoever sits at it agrees; whether they do now. */
  async pushHere(key) {
    try {
      await pushHere(this.user, key)
      return true
    } catch (error) {
      this.#complain(`${this.name} is not pushed to here: ${error.message}`)
      return false
    }
  }

  async setFocus(isFocused) {
    this.#chosenFocus = isFocused
    this.#changed()
    try {
      await reportFocus({ user: this.user, device, isFocused }, (name, text) => this.#wire('http', name, text))
    } catch (error) {
      this.#chosenFocus = null
      this.#complain(`${this.name}’s Focus was not taken: ${error.message}`)
      this.#changed()
    }
  }

  say(text) {
    const draft = { key: randomKey(), body: text, time: Date.now() }
    this.#typingAt = 0
    this.#converse({ type: 'composed', draft })
    this.#send(draft)
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
    this.#quietSeqs.delete(seq)
    this.#changed()
    try {
      await this.#room.notify(seq)
    } catch (error) {
      if (error.code === 'unsupported') this.#canNotifyAnyway = false
      this.#complain(`Notify Anyway failed: ${error.message}`)
    }
  }

  #listen() {
    const on = (type, act, target = this.#relay) => target.addEventListener(type, ({ detail }) => act(detail))
    const onRoom = (type, act) => on(type, act, this.#room)
    on('state', () => this.#changed())
    on('welcome', () => this.#register())
    on('frame', ({ isOwn, text, frame, answers }) => this.#wire(isOwn ? 'sent' : 'heard', frame.type, text, answers))
    on('error', ({ code, message }) => this.#complain(`The relay says ${code}: ${message}`))
    onRoom('joined', (reply) => this.#joined(reply))
    onRoom('left', ({ message }) => this.#complain(`${this.name} is not in the room: ${message}`))
    onRoom('message', (message) => this.#hear({ type: 'message', ...message }))
    for (const type of ['edited', 'deleted', 'delivery', 'receipt']) onRoom(type, (frame) => this.#hear(frame))
    onRoom('presence', () => {
      if (!this.presence[this.peer]?.online) this.#showTyping(false)
      this.#changed()
    })
    onRoom('signal', ({ from, name, body }) => {
      if (from === this.peer && name === 'typing') this.#showTyping(body?.isTyping !== false)
    })
  }

  // At every welcome, as a phone's app does at every launch: the relay may have forgotten the token.
  async #register() {
    const reply = await this.#ask('device', { device, platform: 'simulator', token: this.#token })
    this.#isRegistered ||= reply !== null
    this.#mindPhone()
  }

  // While the conversation is being looked at, nothing comes to the phone that it would show.
  #mindPhone() {
    const isInUse = this.departure === null && this.activity === 'active'
    this.#pushes.follow(this.#isRegistered && !isInUse)
  }

  #joined(reply) {
    this.#converse({ type: 'joined', reply })
    for (const draft of this.conversation.drafts) if (!draft.isFailed) this.#send(draft)
    this.#acknowledge()
  }

  #hear(frame) {
    if (frame.type === 'receipt' && frame.user === this.user) {
      if (frame.kind === 'read') this.#converse({ type: 'read', seq: frame.seq })
      return
    }
    this.#converse(frame)
    if (frame.type !== 'message') return
    if (frame.from === this.peer) this.#showTyping(false)
    this.#acknowledge()
  }

  // The same key every time: however often it takes, the relay stores one message.
  async #send({ key, body }) {
    if (this.#sending.has(key)) return
    this.#sending.add(key)
    try {
      const reply = await this.#room.send(body, { key, report: true })
      if (reply.delivery?.quiet?.includes(this.peer)) this.#quietSeqs.add(reply.seq)
      this.#converse({ type: 'sent', key, from: this.user, reply })
    } catch (error) {
      // Who went away comes back: the draft waits for the next join.
      if (error.code === 'closed') return
      this.#converse({ type: 'refused', key })
      this.#complain(`The relay did not take the message: ${error.message}`)
    } finally {
      this.#sending.delete(key)
    }
  }

  #acknowledgeNow() {
    const seq = this.conversation.messages.findLast(({ from }) => from !== this.user)?.seq ?? 0
    if (!this.isLooking || seq <= this.conversation.read) return
    this.#room.read(seq)
    this.#converse({ type: 'read', seq })
  }

  #ring(push, isLive) {
    const { isFocused } = this
    const phone = phoneAfter(this.phone, push, { isFocused, readUpTo: this.#readUpTo })
    if (isLive || phone !== this.phone) this.#wire('push', 'push', JSON.stringify(push))
    this.phone = phone
    this.#changed()
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

  #showTyping(isTyping) {
    clearTimeout(this.#peerTyping)
    if (isTyping) this.#peerTyping = setTimeout(() => this.#showTyping(false), typingLifetime)
    this.isPeerTyping = isTyping
    this.#changed()
  }

  /** A request whose refusal is shown to the visitor; resolves with null then. */
  async #ask(type, fields) {
    try {
      return await this.#insist(type, fields)
    } catch (error) {
      if (error.code !== 'closed') this.#complain(`The relay refused “${type}”: ${error.message}`)
      return null
    }
  }

  /** A request that is made again for as long as the relay calls its refusal temporary. */
  async #insist(type, fields) {
    for (;;) {
      try {
        return await this.#relay.request(type, fields)
      } catch (error) {
        if (!error.isTemporary || error.code === 'closed') throw error
        await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retryAfter || 1)))
      }
    }
  }

  #changed() {
    this.dispatchEvent(new CustomEvent('change'))
  }

  #complain(detail) {
    this.dispatchEvent(new CustomEvent('complaint', { detail }))
  }

  #wire(kind, name, text, answers) {
    this.dispatchEvent(new CustomEvent('wire', { detail: { kind, name, text, answers } }))
  }
}

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint32Array(3)), (word) => word.toString(36)).join('')
}
