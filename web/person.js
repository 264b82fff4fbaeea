// SPDX-License-Identifier: Apache-2.0
import { conversationAfter, emptyConversation, lastKnown } from './conversation.js'
import { reportFocus } from './focus.js'
import { paced } from './pace.js'
import { emptyPhone, phoneAfter, phoneAfterReading } from './phone.js'
import { isSilenced, nobody, presenceAfter } from './presence.js'
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
  presence = nobody
  phone = emptyPhone
  /** `active`, `idle` or `background`: what this person does with the open app. */
  activity = 'active'
  /** How this person left: `closed` or `lost`; null while they want to be connected. */
  departure = null
  isPeerTyping = false
  #relay
  #pushes
  #chosenFocus = null
  #isRegistered = false
  #isJoined = false
  #acknowledged = { received: 0, read: 0 }
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
    this.#relay = new Stillwire(url, () => ({ user, name, device, acks: true, activity: this.activity }))
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

  get isFocused() {
    return this.#chosenFocus ?? isSilenced(this.presence[this.user])
  }

  /** Whether this person sees the conversation right now, so that what arrives is read. */
  get isLooking() {
    return this.#isJoined && this.activity === 'active'
  }

  /** The seq for which `notify` may be offered: one's newest message, to a peer who is silenced and away. */
  get quietSeq() {
    const peer = this.presence[this.peer]
    const own = this.conversation.messages.findLast(({ from }) => from === this.user)
    const isOffered = this.#canNotifyAnyway && isSilenced(peer) && !peer.online && this.#quietSeqs.has(own?.seq)
    return isOffered ? own.seq : null
  }

  connect() {
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
    this.#relay.connect()
  }

  setActivity(activity) {
    if (this.activity !== activity) {
      this.activity = activity
      this.#relay.tell('activity', { state: activity })
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
    if (this.#isJoined) this.#relay.tell('signal', { room: this.room, name: 'typing', body: { isTyping } })
  }

  async notifyAnyway(seq) {
    this.#quietSeqs.delete(seq)
    this.#changed()
    try {
      await this.#relay.request('notify', { room: this.room, seq })
    } catch (error) {
      if (error.code === 'unsupported') this.#canNotifyAnyway = false
      this.#complain(`Notify Anyway failed: ${error.message}`)
    }
  }

  #listen() {
    const on = (type, act) => this.#relay.addEventListener(type, ({ detail }) => act(detail))
    on('state', () => {
      if (this.connection !== 'open') this.#isJoined = false
      this.#changed()
    })
    on('welcome', () => this.#enter())
    on('frame', ({ isOwn, text, frame, answers }) => this.#wire(isOwn ? 'sent' : 'heard', frame.type, text, answers))
    on('error', ({ code, message }) => this.#complain(`The relay says ${code}: ${message}`))
    on('message', (frame) => this.#hear(frame))
    for (const type of ['edited', 'deleted', 'delivery', 'receipt']) on(type, (frame) => this.#hear(frame))
    for (const type of ['presence', 'member']) {
      on(type, (frame) => {
        this.presence = presenceAfter(this.presence, frame)
        if (!this.presence[this.peer]?.online) this.#showTyping(false)
        this.#changed()
      })
    }
    on('signal', ({ room, from, name, body }) => {
      if (room === this.room && from === this.peer && name === 'typing') this.#showTyping(body?.isTyping !== false)
    })
  }

  #enter() {
    this.#register()
    this.#join()
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

  async #join() {
    const after = lastKnown(this.conversation)
    const reply = await this.#ask('join', { room: this.room, after, history: 50 })
    if (!reply) return
    this.#isJoined = true
    this.#acknowledged = { received: 0, read: reply.read }
    this.presence = presenceAfter(this.presence, reply)
    this.#converse({ type: 'joined', reply })
    for (const draft of this.conversation.drafts) if (!draft.isFailed) this.#send(draft)
    this.#acknowledge()
  }

  #hear(frame) {
    if (frame.room !== this.room) return
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
    try {
      const reply = await this.#insist('send', { room: this.room, body, key, report: true })
      if (reply.delivery?.quiet?.includes(this.peer)) this.#quietSeqs.add(reply.seq)
      this.#converse({ type: 'sent', key, from: this.user, reply })
    } catch (error) {
      // Without a connection the draft waits: it is sent again behind the next join.
      if (error.code === 'closed') return
      this.#converse({ type: 'refused', key })
      this.#complain(`The relay did not take the message: ${error.message}`)
    }
  }

  #acknowledgeNow() {
    if (!this.#isJoined) return
    const seq = this.conversation.messages.findLast(({ from }) => from !== this.user)?.seq ?? 0
    for (const type of this.isLooking ? ['received', 'read'] : ['received']) {
      if (seq <= this.#acknowledged[type]) continue
      this.#acknowledged[type] = seq
      this.#relay.tell(type, { room: this.room, seq })
      if (type === 'read') this.#converse({ type, seq })
    }
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
    if (this.#isJoined) this.phone = phoneAfterReading(this.phone, this.#readUpTo)
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
