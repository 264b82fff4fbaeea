// SPDX-License-Identifier: Apache-2.0
import { StillwireError, StillwireEvent, closed } from './error.js'
import { Marks } from './marks.js'
import { Messages } from './messages.js'
import { hasGap, nowhere, orderAfterJoin, orderAfterMessage, position } from './order.js'
import { Outbox } from './outbox.js'
import { noPresence, presenceAfter } from './presence.js'

/** What the client tells its rooms; no part of what apps use. */
export const opened = Symbol('opened')
export const lost = Symbol('lost')
export const told = Symbol('told')
export const ended = Symbol('ended')

/** The events that are passed on as they are, and what they cannot be without. */
const needed = {
  edited: ['seq'],
  deleted: ['seq'],
  signal: ['from', 'name'],
  member: ['user', 'event'],
  counts: ['memberCount'],
  receipt: ['user', 'seq', 'kind'],
  delivery: ['user', 'seq', 'state'],
  room: [],
}

/**
 * A room: joined at every welcome once `join` was called, and until `leave`.
 *
 * Events: `joined` after each join (`detail`: the reply); `message` for each message, once and in order; `reset` when
 * messages are missing before those that follow ({`reason`: `gap` or `epoch`, `epoch`, `seq`}); `presence` when
 * `presence` changed; `left` when the relay ended it ({`code`}); and `edited`, `deleted`, `signal`, `member`, `counts`,
 * `receipt`, `delivery`, `room` as the protocol has them.
 */
export class Room extends EventTarget {
  /** Whether the relay has joined this connection to the room. */
  isJoined = false
  /** {`members`: entries by user, or null in a large room; `memberCount`, `onlineCount`}; frozen. */
  presence = noPresence
  #link
  #history
  #order = nowhere
  /** The join that is unanswered. */
  #joining = null
  #isAskingPresence = false
  #attempt = 0
  #retry = 0
  #outbox
  #marks
  #iterations = new Set()
  #joins = []

  constructor(link, name, history) {
    super()
    this.name = name
    this.#link = link
    this.#history = history
    const isReady = () => this.isJoined
    this.#outbox = new Outbox(link, isReady, () => this.#mindGap())
    this.#marks = new Marks(link, name, isReady)
  }

  /** Resolves when the room is joined, at once or later; rejects when it is refused or the client ends before. */
  join() {
    if (this.isJoined) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#joins.push({ resolve, reject })
      if (this.#link.adopt(this)) this[opened]()
    })
  }

  /** Ends the membership, which takes a connection; with `stay` the user remains a member, and is pushed to. */
  async leave({ stay = false } = {}) {
    const isOpen = this.#link.isOpen()
    const reply = isOpen || !stay ? this.#ask('leave', { stay: stay || undefined }) : undefined
    if (isOpen || stay) this.#drop()
    return reply
  }

  /** Sends a message, now or when it can be, and resolves with the reply. `signal` gives up waiting for it. */
  send(body, { signal, ...fields } = {}) {
    // A refused client does not reconnect by itself, so the message would wait for nothing.
    if (this.#link.isRefused()) return Promise.reject(closed())
    if (!this.#link.has(this)) {
      return Promise.reject(new StillwireError({ code: 'not_joined', message: `join ${this.name} before sending to it` }))
    }
    const accepted = ({ seq, time }) => {
      const { mentions, replyTo } = fields
      this.#show(orderAfterMessage(this.#order, { seq, from: this.#link.user(), time, body, mentions, replyTo }))
    }
    return this.#outbox.add({ room: this.name, body, ...fields }, accepted, signal)
  }

  /** Marks everything up to `seq` as read, now or when it can be. */
  read(seq) {
    this.#marks.read(seq)
  }

  signal(name, body) {
    if (this.isJoined) this.#link.tell('signal', { room: this.name, name, body })
  }

  edit(seq, body) {
    return this.#ask('edit', { seq, body })
  }

  delete(seq) {
    return this.#ask('delete', { seq })
  }

  /** Notify Anyway: pushes a message to those whom a Focus silences. */
  notify(seq, users) {
    return this.#ask('notify', { seq, users })
  }

  /** A page of older or newer messages: {`before?`, `after?`, `limit?`}. */
  history(page = {}) {
    return this.#ask('history', page)
  }

  /**
   * Iterates over the messages from now on. At most `limit` are kept that were not taken; beyond, the oldest are lost
   * and the next has `isAfterGap`. Ends with `leave` and `close`, and throws when the relay ends it.
   */
  messages({ limit = 1024 } = {}) {
    const iteration = new Messages(limit, () => this.#iterations.delete(iteration))
    this.#iterations.add(iteration)
    return iteration
  }

  [opened]() {
    if (!this.#link.isOpen()) return
    this.isJoined = false
    const joining = (this.#joining = {})
    this.#outbox.stop()
    const fields = { room: this.name, after: position(this.#order), history: this.#history || undefined }
    this.#link.ask('join', fields, (error, reply) => {
      if (this.#joining !== joining || error?.code === 'closed') return
      this.#joining = null
      if (error?.isTemporary) this.#again(error)
      else if (error) this.#left(error)
      else if (Number.isSafeInteger(reply.seq) && typeof reply.epoch === 'string') this.#joined(reply)
      else this.#left(new StillwireError({ code: 'malformed', message: 'the reply to join lacks its position' }))
    })
  }

  [lost]() {
    this.isJoined = false
    this.#joining = null
    this.#link.clock.clearTimeout(this.#retry)
    this.#outbox.stop()
    this.#marks.stop()
  }

  /** The client will not come back by itself; `error` says why, unless the app wished so. */
  [ended](error) {
    this.#outbox.fail()
    for (const { reject } of this.#joins.splice(0)) reject(error ?? closed())
    for (const iteration of this.#iterations) iteration.finish(error)
    this.#iterations.clear()
  }

  [told](frame) {
    if (frame.type === 'message') {
      if (this.isJoined && Number.isSafeInteger(frame.seq)) this.#show(orderAfterMessage(this.#order, frame))
      return
    }
    this.#present(presenceAfter(this.presence, frame))
    if (needed[frame.type]?.every((field) => field in frame)) this.#dispatch(frame.type, frame)
    const isOut = frame.type === 'member' && frame.user === this.#link.user() && frame.event !== 'joined'
    if (isOut || (frame.type === 'room' && frame.removed === true)) {
      this.#left(new StillwireError({ code: 'removed', message: 'no longer a member' }))
    } else if (frame.type === 'member' && this.isJoined && this.presence.members === null) {
      this.#askPresence()
    }
  }

  #joined(reply) {
    this.#attempt = 0
    this.isJoined = true
    const { order, shown, reset } = orderAfterJoin(this.#order, reply)
    if (reset) {
      this.#marks.reset()
      this.#dispatch('reset', { room: this.name, reason: reset, epoch: reply.epoch, seq: reply.seq })
    }
    this.#dispatch('joined', reply)
    // A listener may have left again.
    if (!this.isJoined) return
    this.#present(presenceAfter(this.presence, { ...reply, type: 'joined' }))
    this.#show({ order, shown })
    for (const change of reply.recovered === true && Array.isArray(reply.changes) ? reply.changes : []) {
      // A listener may have left.
      if (!this.isJoined) return
      if ((change?.type === 'edited' || change?.type === 'deleted') && change.room === this.name) this[told](change)
    }
    this.#marks.joined(reply.read ?? 0)
    for (const { resolve } of this.#joins.splice(0)) resolve()
    this.#outbox.flush()
  }

  // A listener may leave the room, and then sees no more of it.
  #show({ order, shown }) {
    this.#order = order
    for (const { seq, from, time, body, mentions, replyTo, deleted, isAfterGap } of shown) {
      const message = { room: this.name, seq, from, time, body }
      if (mentions) message.mentions = mentions
      if (replyTo !== undefined) message.replyTo = replyTo
      if (deleted) message.deleted = true
      if (from !== undefined && from === this.#link.user()) message.isOwn = true
      else this.#marks.received(seq)
      if (isAfterGap) message.isAfterGap = true
      for (const iteration of this.#iterations) iteration.push(message)
      this.#dispatch('message', message)
      if (this.#order !== order) return
    }
    this.#mindGap()
  }

  #mindGap() {
    if (this.isJoined && hasGap(this.#order, this.#outbox.isUnanswered)) this[opened]()
  }

  // What joins again would be told of a large room it is told when somebody comes or goes and it is large no longer.
  #askPresence() {
    if (this.#isAskingPresence) return
    this.#isAskingPresence = true
    this.#link.ask('presence', { room: this.name }, (error, reply) => {
      this.#isAskingPresence = false
      if (!error && this.isJoined) this.#present(presenceAfter(this.presence, { ...reply, type: 'members' }))
    })
  }

  #present(presence) {
    if (presence === this.presence) return
    this.presence = presence
    this.#dispatch('presence', presence)
  }

  #again({ retryAfter }) {
    this.#retry = this.#link.clock.setTimeout(() => this[opened](), this.#link.delay(this.#attempt++, retryAfter))
  }

  #left(error) {
    this.#drop(error)
    this.#dispatch('left', { room: this.name, code: error.code, message: error.message })
  }

  #drop(error) {
    this.#link.forget(this)
    this[lost]()
    this[ended](error)
    this.#order = nowhere
    this.#marks.reset()
    this.presence = noPresence
  }

  #ask(type, fields) {
    return new Promise((resolve, reject) => {
      this.#link.ask(type, { room: this.name, ...fields }, (error, reply) => {
        if (error) reject(error)
        else resolve(reply)
      })
    })
  }

  #dispatch(type, detail) {
    this.dispatchEvent(new StillwireEvent(type, detail))
  }
}
