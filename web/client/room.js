// SPDX-License-Identifier: Apache-2.0
// The rooms of a client. Depends on the modules for changes, order, outbox, marks, messages and presence.
import { changesAfter, changesAfterJoin, hasChange, isChange, noChanges } from './changes.js'
import { StillwireError, StillwireEvent, closed } from './error.js'
import { Marks } from './marks.js'
import { Messages } from './messages.js'
import { hasGap, nowhere, orderAfterChange, orderAfterJoin, orderAfterMessage, position } from './order.js'
import { Outbox } from './outbox.js'
import { endsMembership, noPresence, presenceAfter } from './presence.js'

/** Methods that the client calls on its rooms. They are not part of the API for apps. */
export const join = Symbol('join')
export const lost = Symbol('lost')
export const received = Symbol('received')
export const changed = Symbol('changed')
export const ended = Symbol('ended')

/** The events that a room dispatches unchanged, with their required fields. */
const needed = {
  edited: ['seq'],
  deleted: ['seq'],
  reactions: ['seq', 'reactions'],
  pinned: ['seq', 'pinned'],
  signal: ['from', 'name'],
  member: ['user', 'event'],
  counts: ['memberCount'],
  receipt: ['user', 'seq', 'kind'],
  delivery: ['user', 'seq', 'state'],
  room: [],
}

/** Returns true if the reply to a join, or a page of it, can be used. */
function hasPosition({ epoch, seq }) {
  return Number.isSafeInteger(seq) && typeof epoch === 'string'
}

/** Returns a page that continues those before it. The relay states the `recovered` of all pages together. */
function continued({ isPaged }, page) {
  return isPaged ? { ...page, recovered: true } : page
}

/** The marks of a reply to `join`, as the `receipt` events that lead to them. */
function receiptsOf({ marks }, room) {
  return (Array.isArray(marks) ? marks : []).flatMap((mark) => {
    if (typeof mark?.user !== 'string') return []
    const { user, read = 0, received = 0 } = mark
    const receipts = [{ seq: read, kind: 'read' }, { seq: received > read ? received : 0, kind: 'received' }]
    return receipts.filter(({ seq }) => seq > 0).map(({ seq, kind }) => ({ type: 'receipt', room, user, seq, kind }))
  })
}

/**
 * A room. After `join` the client joins it at each welcome, until `leave`. It dispatches these events:
 *
 * - `joined` after each join, with the reply
 * - `message` for each message, once and in order
 * - `reset` if messages are missing before the next ones: {`reason`: `gap` or `epoch`, `epoch`, `seq`}
 * - `presence` when `presence` has changed
 * - `left` when the relay has ended the membership or refused the join: {`room`, `code`, `message`}
 * - `edited`, `deleted`, `reactions`, `pinned`, `signal`, `member`, `counts`, `receipt`, `delivery` and `room`, as in
 *   the protocol
 */
export class Room extends EventTarget {
  /** True if the room is joined on the current connection. */
  isJoined = false
  /** The rooms with the highest number are joined first, and among them the one that the app has used last. */
  priority = 0
  /** {`members`, `memberCount`, `onlineCount`}, frozen. `members` has entries by user, or is null in a large room. */
  presence = noPresence
  #link
  #history
  #order = nowhere
  #changes = noChanges
  /** The pending join: {`isPaged`: true after its first page}. */
  #joining = null
  /** {`recovered`} of the first page, if the messages of a join come in several replies. */
  #first = null
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

  /** Resolves when the room is joined. Rejects if the relay refuses the join, or if the client ends before it. */
  join() {
    this.#link.joins.used(this)
    if (this.isJoined) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#joins.push({ resolve, reject })
      if (this.#link.adopt(this)) this.#joinSoon()
    })
  }

  /**
   * Ends the membership. This requires a connection: without one it rejects with `closed`, and the room stays joined.
   * With `stay` the user remains a member and receives pushes, and no connection is required.
   */
  async leave({ stay = false } = {}) {
    const isOpen = this.#link.isOpen()
    const reply = isOpen || !stay ? this.#ask('leave', { stay: stay || undefined }) : undefined
    if (isOpen || stay) this.#drop()
    return reply
  }

  /** Sends a message when the room is joined, and resolves with the reply. An abort of `signal` ends the wait. */
  send(body, { signal, ...fields } = {}) {
    // A refused client does not reconnect by itself, so the message would wait without an end.
    if (this.#link.isRefused()) return Promise.reject(closed())
    if (!this.#link.has(this)) {
      return Promise.reject(new StillwireError({ code: 'not_joined', message: `join ${this.name} before sending to it` }))
    }
    this.#link.joins.used(this)
    const accepted = ({ seq, time, quote }) => {
      const { mentions, replyTo } = fields
      this.#show(orderAfterMessage(this.#order, { seq, from: this.#link.user(), time, body, mentions, replyTo, quote }))
    }
    return this.#outbox.add({ room: this.name, body, ...fields }, accepted, signal)
  }

  /** Marks all messages up to `seq` as read, immediately or after the next join. */
  read(seq) {
    this.#link.joins.used(this)
    this.#marks.read(seq)
  }

  signal(name, body) {
    if (this.isJoined) this.#link.notify('signal', { room: this.name, name, body })
  }

  edit(seq, body) {
    return this.#ask('edit', { seq, body })
  }

  delete(seq) {
    return this.#ask('delete', { seq })
  }

  /** Adds a reaction of the user: an emoji, or another text of at most 64 bytes. */
  react(seq, key) {
    return this.#ask('react', { seq, key })
  }

  unreact(seq, key) {
    return this.#ask('unreact', { seq, key })
  }

  /** Pins a message. Requires the role of a moderator or an owner; in a direct room, both people pin messages. */
  pin(seq) {
    return this.#ask('pin', { seq })
  }

  unpin(seq) {
    return this.#ask('unpin', { seq })
  }

  /** Lists the pinned messages, the newest pin first: at most 50. */
  pins() {
    return this.#ask('pins')
  }

  /**
   * Restricts a member until a time, or ends the restriction with null: the member reads, but sends nothing. Requires
   * the role of a moderator or an owner.
   */
  restrict(user, until) {
    return this.#ask('restrict', { user, until })
  }

  /** Lets only moderators and owners send, or all members. Requires the role of a moderator or an owner. */
  setReadOnly(isReadOnly) {
    return this.#ask('update', { readOnly: isReadOnly })
  }

  /** Reports a message to the moderators. A second report of the same message changes nothing. */
  report(seq, reason) {
    return this.#ask('report', { seq, reason })
  }

  /** Lists the reports of messages of others for a moderator, newest first: {`state?`, `before?` (a report), `limit?`}. */
  reports(page = {}) {
    return this.#ask('reports', page)
  }

  /** Ends a report as `resolved` or `dismissed`, or makes it `open` again. Requires the role of a moderator. */
  resolve(report, state = 'resolved') {
    return this.#ask('resolve', { report, state })
  }

  /** Notify Anyway: pushes a message to members whose Focus silenced it. */
  notify(seq, users) {
    return this.#ask('notify', { seq, users })
  }

  /** Requests a page of older or newer messages: {`before?`, `after?`, `limit?`}. */
  history(page = {}) {
    return this.#ask('history', page)
  }

  /**
   * Returns an async iterator over the messages from now on. It buffers at most `limit` messages. Beyond that the
   * oldest are lost, and the next one has `isAfterGap`. It ends after `leave` and `close`, and throws if the relay ends
   * the membership or refuses the client.
   */
  messages({ limit = 1024 } = {}) {
    const iteration = new Messages(limit, () => this.#iterations.delete(iteration))
    this.#iterations.add(iteration)
    return iteration
  }

  /** Sends `join`, and calls `done` at its end. */
  [join](done) {
    const { clock, joins } = this.#link
    const joining = (this.#joining = { isPaged: false })
    const askedAt = clock.elapsed()
    const fields = {
      room: this.name,
      after: position(this.#order),
      afterChange: this.#changes.newest,
      history: this.#history || undefined,
      maxBytes: joins.maxBytes,
    }
    this.#link.ask('join', fields, (error, reply) => {
      const isClosed = error?.code === 'closed'
      if (reply?.more === true) joins.took(clock.elapsed() - askedAt)
      try {
        if (this.#joining === joining && !isClosed) this.#answered(error, reply)
      } finally {
        done(isClosed)
      }
    })
  }

  [lost]() {
    this.isJoined = false
    this.#joining = null
    this.#link.clock.clearTimeout(this.#retry)
    this.#outbox.stop()
    this.#marks.stop()
  }

  /** Ends all that waits. `error` is the reason, or undefined if the app closed the client or left the room. */
  [ended](error) {
    this.#outbox.fail()
    for (const { reject } of this.#joins.splice(0)) reject(error ?? closed())
    for (const iteration of this.#iterations) iteration.finish(error)
    this.#iterations.clear()
  }

  [received](frame) {
    if (frame.type === 'message') {
      if (this.isJoined && Number.isSafeInteger(frame.seq)) this.#show(orderAfterMessage(this.#order, frame))
      return
    }
    if (frame.type === 'page') {
      if (!this.#joining || !hasPosition(frame)) return
      const page = continued(this.#joining, frame)
      this.#joining.isPaged = true
      this.#takePage(page)
      return
    }
    if (isChange(frame) && !this.#takeChange(frame)) return
    this.#present(presenceAfter(this.presence, frame))
    if (needed[frame.type]?.every((field) => field in frame)) this.#dispatch(frame.type, frame)
    const isOut = endsMembership(frame) && frame.user === this.#link.user()
    if (isOut || (frame.type === 'room' && frame.removed === true)) {
      this.#left(new StillwireError({ code: 'removed', message: 'no longer a member' }))
    } else if (frame.type === 'member' && this.isJoined && this.presence.members === null) {
      this.#askPresence()
    }
  }

  /**
   * Stores the number of a change that this client has requested. The relay sends no event about it. `change` is an edit
   * or a deletion, as the event that other sessions get. Is undefined for other changes.
   */
  [changed](number, change) {
    const isLate = this.#changes.ahead.some((other) => other > number)
    const isKnown = hasChange(this.#changes, number)
    this.#changes = changesAfter(this.#changes, number)
    if (!change || isKnown) return
    const order = orderAfterChange(this.#order, change)
    const isHeld = this.#order.held.some(({ seq }) => seq === change.seq)
    if (order === this.#order && !isHeld) return
    // A new join returns the held messages in their newest state. A later change may have arrived before the reply.
    if (isHeld || isLate) {
      if (this.isJoined) this.#joinSoon()
    } else {
      this.#order = order
    }
  }

  // Returns true if the app needs the event.
  #takeChange(frame) {
    const { seq, change } = frame
    if (hasChange(this.#changes, change)) return false
    if (!(seq <= this.#order.seq)) {
      // The app gets the message in its changed state. If the message waits, a new join returns that state.
      if (this.isJoined && this.#order.held.some((message) => message.seq === seq)) this.#joinSoon()
      return false
    }
    this[changed](change)
    this.#order = orderAfterChange(this.#order, frame)
    return true
  }

  #joinSoon() {
    if (!this.#link.isOpen()) return
    this.isJoined = false
    this.#outbox.stop()
    this.#link.joins.add(this)
  }

  #answered(error, reply) {
    const joining = this.#joining
    this.#joining = null
    if (error?.isTemporary) this.#again(error)
    else if (error) this.#left(error)
    else if (hasPosition(reply)) this.#takeReply(continued(joining, reply))
    else this.#left(new StillwireError({ code: 'malformed', message: 'the reply to join has no position' }))
  }

  #takeReply(reply) {
    this.#attempt = 0
    if (reply.more === true) this.#takePage(reply)
    else this.#joined(reply)
    if (!this.#link.isOpen() || !this.#link.has(this)) return
    for (const change of reply.recovered === true && Array.isArray(reply.changes) ? reply.changes : []) {
      if (isChange(change) && change.room === this.name) this[received](change)
      // A listener may have left the room.
      if (!this.#link.has(this)) return
    }
    this.#changes = changesAfterJoin(reply)
    if (reply.more === true) this.#joinSoon()
    else this.#begin(reply)
  }

  // Shows the messages of a page. The room is joined after the last one.
  #takePage(page) {
    this.#first ??= { recovered: page.recovered }
    const messages = this.#continue(page)
    // A listener may have left the room.
    if (this.#link.has(this)) this.#show(messages)
  }

  // Returns the order after a page, and the messages to show.
  #continue(page) {
    const { order, shown, reset } = orderAfterJoin(this.#order, page)
    if (reset) {
      this.#marks.reset()
      this.#dispatch('reset', { room: this.name, reason: reset, epoch: page.epoch, seq: page.seq })
    }
    return { order, shown }
  }

  #joined(reply) {
    this.isJoined = true
    const messages = this.#continue(reply)
    this.#dispatch('joined', { ...reply, ...this.#first })
    this.#first = null
    // A listener may have left the room.
    if (!this.isJoined) return
    this.#present(presenceAfter(this.presence, { ...reply, type: 'joined' }))
    this.#show(messages)
  }

  // The app has all messages and changes of the reply.
  #begin(reply) {
    for (const receipt of receiptsOf(reply, this.name)) {
      if (!this.isJoined) return
      this.#dispatch('receipt', receipt)
    }
    this.#marks.joined(reply.read ?? 0)
    for (const { resolve } of this.#joins.splice(0)) resolve()
    this.#outbox.flush()
  }

  // A listener may leave the room during the loop. It then receives no further messages.
  #show({ order, shown }) {
    this.#order = order
    for (const frame of shown) {
      const { seq, from, time, body, mentions, replyTo, quote, deleted, by, isAfterGap } = frame
      const { editedAt, reactions, pinnedAt } = frame
      const message = { room: this.name, seq, from, time, body }
      if (mentions) message.mentions = mentions
      if (replyTo !== undefined) message.replyTo = replyTo
      if (quote) message.quote = quote
      if (editedAt !== undefined) message.editedAt = editedAt
      if (reactions) message.reactions = reactions
      if (pinnedAt !== undefined) message.pinnedAt = pinnedAt
      if (deleted) message.deleted = true
      if (deleted && by !== undefined) message.by = by
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
    if (this.isJoined && hasGap(this.#order, this.#outbox.isUnanswered)) this.#joinSoon()
  }

  // Requests the members of a room that is no longer large. The relay sends `member` events only for such rooms.
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
    this.#retry = this.#link.clock.setTimeout(() => this.#joinSoon(), this.#link.delay(this.#attempt++, retryAfter))
  }

  #left(error) {
    this.#drop(error)
    this.#dispatch('left', { room: this.name, code: error.code, message: error.message })
  }

  #drop(error) {
    this.#link.forget(this)
    this.#link.joins.remove(this)
    this[lost]()
    this[ended](error)
    this.#order = nowhere
    this.#changes = noChanges
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
