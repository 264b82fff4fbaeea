// SPDX-License-Identifier: Apache-2.0
// The types of the JavaScript client. stillwire.js and room.js describe the events.
//
// All durations are in seconds, all times in milliseconds since 1970.

export type State = 'closed' | 'connecting' | 'open' | 'waiting' | 'refused'
export type Activity = 'active' | 'idle' | 'background'
export type Fields = Record<string, unknown>

/** Any frame: its `type`, and the fields that the protocol defines for this type. */
export interface Frame {
  readonly type: string
  readonly [field: string]: any
}

/** The relay's answer to `hello`. The protocol defines its other fields. */
export interface Welcome extends Frame {
  readonly user: string
  /** The number of open invitations of the user. Absent for 0. */
  readonly invitations?: number
}

export interface Options {
  /**
   * A token, or a function that returns one. The client calls the function at each attempt to connect, and before a
   * token expires. `isExpired` is true if the last token has expired or will soon expire. If the function throws, or
   * returns anything but a token, the client calls it again after a delay.
   */
  token?: string | ((about: { isExpired: boolean }) => string | Promise<string>)
  /**
   * The other fields of `hello`: `device`, `app`, `client`, and in open mode `user` and `name`. With `inbox` (true or an
   * object) the client dispatches `inbox` events, and continues without a gap after a reconnect.
   */
  hello?: Fields | (() => Fields)
  /** Timeout of a reply (default: 15): the time since the request without any frame of the relay, except `pong`. */
  timeout?: number
  /** Maximum number of messages that wait, in all rooms together (default: 100). */
  outbox?: number
  /** The class WebSocket (default: the global one). Node before 22 has none: use that of the package `ws`. */
  WebSocket?: unknown
  /** The window that the client watches: visibility, input, network, freezing, back-forward cache. null for none. */
  page?: object | null
  /**
   * The function that requests the reason of a failed handshake, and the leader of a cluster (default: `fetch`). null
   * for no such request: the client then tries its addresses in order.
   */
  fetch?: typeof fetch | null
  /** The source of jitter, from 0 to 1 (default: `Math.random`). */
  random?: () => number
  /**
   * The clock, in milliseconds. Tests supply their own. `now` is the wall-clock time since 1970, for reports. `elapsed`
   * measures all durations: it never steps back or ahead, and may stand still while the computer sleeps.
   */
  clock?: {
    now(): number
    elapsed(): number
    setTimeout(act: () => void, delay: number): any
    clearTimeout(timer: any): void
  }
}

/** The status of a user: a text, an emoji, or both. */
export interface Status {
  /** One line, at most 100 characters (code points) and 320 bytes. */
  readonly text?: string
  /** An emoji, or the app's own name of a picture: at most 32 characters and 64 bytes. */
  readonly emoji?: string
  /** The time at which the relay ends the status. */
  readonly until?: number
}

export interface PresenceEntry {
  readonly user: string
  readonly name?: string
  readonly avatar?: string
  readonly online: boolean
  readonly activity?: Activity
  /** null if it is unknown or not shared with this user. */
  readonly isFocused: boolean | null
  readonly focusSince?: number
  /** Absent if the user has none, or does not show this user whether they are online. */
  readonly status?: Status
  readonly lastSeen?: number
  /** The role in the room, in the list of its members. Absent for the role `member`. */
  readonly role?: 'moderator' | 'owner'
  /** The end of the member's restriction in the room. */
  readonly restrictedUntil?: number
}

export interface Presence {
  /** Entries by user. They include this user and users who are offline. null in large rooms. */
  readonly members: Readonly<Record<string, PresenceEntry>> | null
  readonly memberCount: number
  readonly onlineCount: number
}

/** The reactions with one key to a message. */
export interface Reaction {
  readonly key: string
  /** The number of users. */
  readonly count: number
  /** The first users, at most 5. */
  readonly users: readonly string[]
}

/** The message that a reply answers. */
export interface Quote {
  readonly seq: number
  /** The sender of the message. */
  readonly from: string
  /** The beginning of the text, at most 160 characters. Absent without a text, and in a room without previews. */
  readonly preview?: string
  /** Set if the message was deleted. It then has no preview. */
  readonly deleted?: true
}

export interface Message {
  readonly room: string
  readonly seq: number
  readonly from?: string
  readonly time?: number
  readonly body?: any
  /** Names of users, `*` for all members, or `*online` for those who were online. */
  readonly mentions?: readonly string[]
  readonly replyTo?: number
  /** The answered message when the client received the reply. Absent if the relay no longer has that message. */
  readonly quote?: Quote
  /** The time of the last edit before the client received the message. */
  readonly editedAt?: number
  /** The reactions when the client received the message. */
  readonly reactions?: readonly Reaction[]
  /** The time of the pin, if the message was pinned when the client received it. */
  readonly pinnedAt?: number
  /** Set if the message was deleted before the client received it. It has no `from`, `time` and `body`. */
  readonly deleted?: true
  /** The user who deleted the message of another user. */
  readonly by?: string
  readonly isOwn?: true
  /** Set if messages before this one are missing. */
  readonly isAfterGap?: true
}

export interface SendOptions {
  key?: string
  /** Names of users, `*` for all members, or `*online` for those who are online. */
  mentions?: readonly string[]
  replyTo?: number
  push?: Fields | false
  report?: boolean
  /** An abort ends the wait. A pending send may still take effect. */
  signal?: AbortSignal
}

export interface SendReply {
  readonly room: string
  readonly seq: number
  readonly time: number
  readonly duplicate?: true
  /** The message that the new one answers. */
  readonly quote?: Quote
  readonly delivery?: {
    readonly live: number
    readonly push: number
    readonly waiting: number
    readonly quiet: readonly string[]
  }
}

export interface HistoryReply {
  readonly epoch: string
  readonly first: number
  readonly messages: readonly Omit<Message, 'room'>[]
  readonly more: boolean
}

/** A pinned message. */
export interface Pin {
  readonly seq: number
  readonly from: string
  readonly time: number
  /** The time of the pin. */
  readonly pinnedAt: number
  /** The beginning of the text, at most 160 characters. */
  readonly preview?: string
}

/** A message that a user has reported to the moderators of a room. */
export interface MessageReport {
  /** The id of the report. */
  readonly report: number
  readonly room: string
  readonly seq: number
  /** The sender of the message. */
  readonly from: string
  /** The user who has reported it. */
  readonly user: string
  readonly reason: string
  readonly time: number
  readonly state: 'open' | 'resolved' | 'dismissed'
  /** The user who has ended the report. Absent in the reply to the reporter. */
  readonly by?: string
  /** The time at which the report was ended. */
  readonly closed?: number
}

/** A room in the list of the user. */
export interface RoomEntry {
  readonly room: string
  readonly kind: 'group' | 'direct'
  readonly title?: string
  readonly avatar?: string
  readonly members: {
    readonly count: number
    /** The other person of a direct room. */
    readonly other?: { readonly user: string; readonly name?: string; readonly avatar?: string }
  }
  readonly lastMessage?: {
    readonly seq: number
    readonly time: number
    readonly from: string
    readonly name?: string
    readonly preview?: string
    readonly deleted?: true
  }
  readonly unread: number
  readonly mentions: number
  readonly muted: boolean
  readonly read: number
}

export interface RoomsReply {
  /** A later entry of a room replaces an earlier one. */
  readonly rooms: readonly RoomEntry[]
  readonly position: string
  /** Absent in the last page. */
  readonly next?: string
  /** The changes are not complete. This is the first page of the whole list. */
  readonly reset?: true
}

/** A change in the list of rooms. `reset`: list the rooms again. */
export type InboxEvent =
  | ({ readonly type: 'inbox'; readonly event: 'changed'; readonly position: string } & RoomEntry)
  | { readonly type: 'inbox'; readonly event: 'removed'; readonly room: string; readonly position: string }
  | { readonly type: 'inbox'; readonly event: 'reset'; readonly position: string }

/** An offer of a membership by another user. The user gets nothing of the room until the user accepts it. */
export interface Invitation {
  readonly room: string
  readonly kind: 'group' | 'direct'
  readonly title?: string
  readonly avatar?: string
  /** The number of members. */
  readonly members: number
  /** The inviting user. */
  readonly by: { readonly user: string; readonly name?: string; readonly avatar?: string }
  readonly time: number
}

export interface InvitationsReply {
  readonly invitations: readonly Invitation[]
  /** Absent in the last page. */
  readonly next?: string
}

/** The membership of the user after `acceptInvitation`. */
export interface Membership {
  readonly room: string
  readonly user: string
  readonly epoch: string
  readonly seq: number
  /** The messages since the invitation are above it. */
  readonly read: number
  readonly memberCount: number
}

/** The user has a new invitation, or an invitation has ended, also by a request of another session. */
export type InvitationEvent =
  | ({ readonly type: 'invitation'; readonly event: 'added' } & Invitation)
  | {
      readonly type: 'invitation'
      readonly event: 'ended'
      readonly room: string
      readonly cause: 'accepted' | 'declined' | 'withdrawn' | 'replaced' | 'expired' | 'blocked'
    }

/** A call. Its room and seq name it, also in the payloads of its pushes (`message`). */
export interface Call {
  readonly room: string
  readonly seq: number
  /** The caller. */
  readonly from: string
  readonly media: 'audio' | 'video'
  readonly state: 'ringing' | 'answered' | 'declined' | 'missed' | 'cancelled' | 'ended'
  readonly time: number
  /** The end of the ringing. */
  readonly ringUntil: number
  /** The time at which the call was over. */
  readonly ended?: number
}

export interface CallReply extends Call {
  /** The users who have answered or declined, and those who have hung up. */
  readonly users: readonly {
    readonly user: string
    readonly state: 'answered' | 'declined' | 'left'
    readonly device?: string
  }[]
}

export interface RingReply extends CallReply {
  /** The request began no new call: it answered another one, or the call rings already. */
  readonly duplicate?: true
  readonly delivery?: Fields
}

export interface CallsReply {
  readonly room: string
  readonly calls: readonly CallReply[]
  readonly more: boolean
}

/** A call rings, or has changed. `user` and `device` are those that have caused it. */
export interface CallEvent extends Call {
  readonly type: 'call'
  readonly event: 'ring' | 'answer' | 'decline' | 'hangup' | 'expire' | 'delete'
  readonly user?: string
  readonly device?: string
  /** The user has muted the room, or the caller calls the user too often: do not ring. */
  readonly muted?: true
}

/** The room and the seq of a call: a `CallEvent`, a reply, or the `message` of a push. */
export type CallName = Pick<Call, 'room' | 'seq'>

export interface Refusal {
  readonly code: string
  readonly message: string
}

/** An error with a code of the protocol or of the client. error.js lists the client's codes. */
export class StillwireError extends Error {
  constructor(about: { code: string; message?: string; temporary?: boolean; retryAfter?: number; until?: number })
  readonly code: string
  readonly isTemporary: boolean
  readonly retryAfter: number
  /** The end of a restriction (`restricted`). */
  readonly until?: number
}

export interface StillwireEvent<Detail> extends Event {
  readonly detail: Detail
}

type Listener<Detail> = ((event: StillwireEvent<Detail>) => void) | null

/** An `EventTarget` with the types of these events. */
interface Target<Events> {
  addEventListener<Type extends keyof Events>(
    type: Type,
    listener: Listener<Events[Type]>,
    options?: boolean | AddEventListenerOptions
  ): void
  removeEventListener<Type extends keyof Events>(
    type: Type,
    listener: Listener<Events[Type]>,
    options?: boolean | EventListenerOptions
  ): void
  dispatchEvent(event: Event): boolean
}

export interface ClientEvents {
  state: { state: State; reason?: string; code?: number; delay?: number }
  welcome: Welcome
  response: Frame
  presence: Frame
  inbox: InboxEvent
  call: CallEvent
  invitation: InvitationEvent
  /** An error of the relay without a request, or the reason of a failed handshake (`code`, `message`). */
  error: Frame
  bye: Frame
  /** Each frame in either direction. `hello` contains the token, so do not write it to logs that other people read. */
  frame: { isOwn: boolean; text: string; frame: Frame; answers?: string }
}

export interface RoomEvents {
  joined: Frame
  reset: { room: string; reason: 'gap' | 'epoch'; epoch: string; seq: number }
  left: Refusal & { room: string }
  message: Message
  presence: Presence
  edited: Frame
  deleted: Frame
  reactions: Frame & { seq: number; reactions: readonly Reaction[] }
  pinned: Frame & { seq: number; pinned: boolean }
  signal: Frame
  member: Frame
  counts: Frame
  receipt: Frame
  delivery: Frame
  room: Frame
}

/** A room of a client. All promises reject with a `StillwireError`. */
export interface Room extends Target<RoomEvents> {
  readonly name: string
  /** True if the room is joined on the current connection. */
  readonly isJoined: boolean
  /**
   * After a reconnect the client joins the rooms with the highest number first (default: 0), and among them the one for
   * which the app has called `join`, `send` or `read` last. At most 4 joins have no reply at once.
   */
  priority: number
  readonly presence: Presence
  /** Joins the room, and joins it again after each reconnect. Resolves after the first join. */
  join(): Promise<void>
  /**
   * Leaves the room. With `stay` the user remains a member and receives pushes. Without `stay` this requires a
   * connection: otherwise it rejects with `closed`, and the room stays joined.
   */
  leave(how?: { stay?: boolean }): Promise<Frame | undefined>
  /** Sends a message, and resolves when the relay has stored it. The message waits without a connection. */
  send(body: unknown, options?: SendOptions): Promise<SendReply>
  /** Marks all messages up to `seq` as read. */
  read(seq: number): void
  /** Sends a signal to the sessions in the room. The relay does not store it. */
  signal(name: string, body?: unknown): void
  edit(seq: number, body: unknown): Promise<Frame>
  delete(seq: number): Promise<Frame>
  /**
   * Adds a reaction of the user: an emoji, or another text of at most 64 bytes. Resolves with all `reactions`. They are
   * absent without the right `history`, if the message is older than the `join`.
   */
  react(seq: number, key: string): Promise<Frame & { reactions?: readonly Reaction[] }>
  /** Removes a reaction of the user. Resolves with all `reactions`, as `react` does. */
  unreact(seq: number, key: string): Promise<Frame & { reactions?: readonly Reaction[] }>
  /** Pins a message. Requires the role of a moderator or an owner; in a direct room, both people pin messages. */
  pin(seq: number): Promise<Frame & { pinned: true }>
  /** Ends the pin of a message. */
  unpin(seq: number): Promise<Frame & { pinned: false }>
  /** Lists the pinned messages, the newest pin first: at most 50. */
  pins(): Promise<{ pins: readonly Pin[] }>
  /**
   * Restricts a member until a time, or ends the restriction with null: the member reads, but sends nothing. Requires
   * the role of a moderator or an owner.
   */
  restrict(user: string, until: number | null): Promise<Frame & { user: string; until?: number }>
  /** Lets only moderators and owners send, or all members. Requires the role of a moderator or an owner. */
  setReadOnly(isReadOnly: boolean): Promise<Frame & { version: number; readOnly?: true }>
  /** Reports a message to the moderators. A second report of the same message changes nothing. */
  report(seq: number, reason: string): Promise<MessageReport & { duplicate?: true }>
  /** Lists the reports of messages of others for a moderator, newest first (100). */
  reports(page?: {
    state?: MessageReport['state']
    /** The last report of the page before. */
    before?: number
    limit?: number
  }): Promise<{ reports: readonly MessageReport[]; more: boolean }>
  /** Ends a report, by default as `resolved`, or makes it `open` again. Requires the role of a moderator. */
  resolve(report: number, state?: MessageReport['state']): Promise<MessageReport>
  /** Notify Anyway: pushes a message to members whose Focus silenced it (default: all of them). */
  notify(seq: number, users?: readonly string[]): Promise<Frame>
  /** Requests a page of older or newer messages. */
  history(page?: { before?: number; after?: number; limit?: number }): Promise<HistoryReply>
  /** Iterates over the messages from now on. Beyond `limit` buffered messages (1024) the oldest are lost. */
  messages(bound?: { limit?: number }): AsyncIterableIterator<Message>
}

export interface Stillwire extends Target<ClientEvents> {}
export class Stillwire {
  /**
   * `urls` is the URL of the relay's WebSocket, such as `wss://relay.example.org/v1/connect`, or those of all nodes of
   * a cluster. The client finds the leader, and connects to no other address.
   */
  constructor(urls: string | URL | readonly (string | URL)[], options?: Options)
  readonly state: State
  /** The cause, if the state is `refused`. */
  readonly reason: string
  /** The user of the session. Is empty before the first welcome. */
  readonly user: string
  /** Connects, and reconnects until `close`. While the client waits, it connects immediately. */
  connect(): void
  /** Closes the client, and rejects waiting sends. */
  close(code?: number, reason?: string): void
  /**
   * Sends a request, and resolves with its reply. Users of an accepted `watch` are watched again after each reconnect,
   * until `unwatch`.
   */
  request(type: string, fields?: Fields): Promise<Frame>
  /** Lists the rooms of the user, those with the newest activity first (50, at most 100). */
  rooms(page?: {
    limit?: number
    /** The `next` of the page before. */
    after?: string
    /** The `position` of an earlier page: only later changes. */
    since?: string
    preview?: 'text' | 'none'
  }): Promise<RoomsReply>
  /** Lists the open invitations of the user, newest first (50, at most 100). */
  invitations(page?: {
    limit?: number
    /** The `next` of the page before. */
    after?: string
  }): Promise<InvitationsReply>
  /**
   * Makes the user a member of a room to which the user is invited. `join` of the room does the same. Fails with
   * `not_found` without an invitation. If a limit refuses the membership (`too_large`), the invitation stays.
   */
  acceptInvitation(room: string): Promise<Membership>
  /** Ends an invitation. The inviter gets no event. Has no effect without an invitation. */
  declineInvitation(room: string): Promise<{ readonly room: string }>
  /**
   * Rings for all members of a room. If another member's call rings there, answers it. `push` has the options of the
   * push: `expires` is the time of the ringing (default: 45, at most 600 s).
   */
  ring(
    room: string,
    options?: { media?: 'audio' | 'video'; body?: unknown; push?: Fields; key?: string }
  ): Promise<RingReply>
  /**
   * Answers a call. The ringing ends on all other devices of the user. Fails with `conflict` on a second device.
   * Sessions without a `device` count as one device.
   */
  answer(call: CallName): Promise<CallReply>
  /** Declines a call on all devices of the user. */
  decline(call: CallName): Promise<CallReply>
  /**
   * Leaves a call, or cancels the user's own call before anybody answers. Fails with `conflict` if another device of the
   * user has answered, unless `device` names it, or it answered in a session and has no open session any more.
   */
  hangUp(call: CallName, options?: { device?: string }): Promise<CallReply>
  /** Reads a call. */
  call(call: CallName): Promise<CallReply>
  /** Lists the calls of a room, newest first (20). */
  calls(room: string, page?: { before?: number; limit?: number }): Promise<CallsReply>
  /** Sets the status of the user, which presence shows, or ends it with null. Resolves with the new status. */
  setStatus(status: Status | null): Promise<Status | null>
  /** Sends a request that needs no reply. Does nothing without a connection. */
  notify(type: string, fields?: Fields): void
  /** The room of this name. `history` is the number of newest messages that the first join requests. */
  room(name: string, first?: { history?: number }): Room
  /**
   * Sets the activity of the person. With null the page determines it again. After `background` the client finds out
   * immediately if the connection still works.
   */
  setActivity(state: Activity | null): void
  /** Reports this device's Focus. null means unknown. */
  setFocus(
    isFocused: boolean | null,
    fields?: { device?: string; source?: string; authorization?: string }
  ): Promise<Frame>
}

/** Reports of one device over HTTP, with its report key and without a session. */
export class Reporter {
  /** `urls` is any URL of the relay, or one for each node of a cluster. */
  constructor(
    urls: string | URL | readonly (string | URL)[],
    reportKey: string,
    options?: { fetch?: typeof fetch; now?: () => number }
  )
  focus(
    isFocused: boolean | null,
    fields?: { source?: string; authorization?: string; number?: number; at?: number }
  ): Promise<{ applied: true; isFocused: boolean | null; focusSince?: number; [field: string]: any }>
  filter(fields: { active: boolean; allow?: readonly string[]; number?: number }): Promise<{ applied: true }>
  respond(notification: string, fields: { action: string; text?: string; key?: string }): Promise<Fields>
  received(notification: string): Promise<Fields>
}

export const noPresence: Presence
/**
 * Returns the presence of a room after an event, or after a reply to `join` (with `type` `joined`) or to `presence` or
 * `watch` (with `type` `members`).
 */
export function presenceAfter(presence: Presence, input: { type: string; [field: string]: any }): Presence
/**
 * Returns the quote of a reply after an event of the room: the events `edited` and `deleted` of the quoted message
 * change it. A quote without a preview stays without one, because the room may have no previews.
 */
export function quoteAfter<Known extends Quote | undefined>(quote: Known, event: Frame): Known
/** Returns true only if the user is known to have a Focus. */
export function isSilenced(entry: PresenceEntry | undefined): boolean
