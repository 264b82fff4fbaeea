// SPDX-License-Identifier: Apache-2.0
// All durations are seconds, all times milliseconds since 1970.

export type State = 'closed' | 'connecting' | 'open' | 'waiting' | 'refused'
export type Activity = 'active' | 'idle' | 'background'
export type Fields = Record<string, unknown>

/** Any frame: `type` and what the protocol says of it. */
export interface Frame {
  readonly type: string
  readonly [field: string]: any
}

export interface Options {
  /**
   * A token, or a function that is asked for one at every connect, and for a newer one before one expires. `isExpired`
   * tells that the last one has expired, or is about to.
   */
  token?: string | ((about: { isExpired: boolean }) => string | Promise<string>)
  /** The other fields of `hello`: `device`, `app`, `client`, and in open mode `user` and `name`. */
  hello?: Fields | (() => Fields)
  /** How long a request waits for its reply (15). */
  timeout?: number
  /** How many sends may wait, in all rooms (100). */
  outbox?: number
  /** Where there is none, as in Node before 22: that of the package `ws`. */
  WebSocket?: unknown
  /** The window whose life is followed: visibility, input, network, freezing, back-forward cache. null: none. */
  page?: object | null
  /** The function that finds out why a handshake failed (default: `fetch`); null: the client does not find out. */
  fetch?: typeof fetch | null
  /** The source of jitter, from 0 to 1 (`Math.random`). */
  random?: () => number
  /** What the time is taken from; milliseconds. */
  clock?: { now(): number; setTimeout(act: () => void, delay: number): any; clearTimeout(timer: any): void }
}

export interface PresenceEntry {
  readonly user: string
  readonly name?: string
  readonly avatar?: string
  readonly online: boolean
  readonly activity?: Activity
  /** null: unknown, or not for us to see. */
  readonly isFocused: boolean | null
  readonly focusSince?: number
  readonly status?: string
  readonly lastSeen?: number
}

export interface Presence {
  /** By user, oneself and the offline included; null in large rooms. */
  readonly members: Readonly<Record<string, PresenceEntry>> | null
  readonly memberCount: number
  readonly onlineCount: number
}

export interface Message {
  readonly room: string
  readonly seq: number
  readonly from?: string
  readonly time?: number
  readonly body?: any
  readonly mentions?: readonly string[]
  readonly replyTo?: number
  /** Deleted before it came here: it has no `from`, `time` and `body`. */
  readonly deleted?: true
  readonly isOwn?: true
  /** There are messages before this one that are not shown here. */
  readonly isAfterGap?: true
}

export interface SendOptions {
  key?: string
  mentions?: readonly string[]
  replyTo?: number
  push?: Fields | false
  report?: boolean
  /** Gives up waiting; what is under way may still take effect. */
  signal?: AbortSignal
}

export interface SendReply {
  readonly room: string
  readonly seq: number
  readonly time: number
  readonly duplicate?: true
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

export interface Refusal {
  readonly code: string
  readonly message: string
}

/** The protocol's code, or one of the client's own. */
export class StillwireError extends Error {
  constructor(about: { code: string; message?: string; temporary?: boolean; retryAfter?: number })
  readonly code: string
  readonly isTemporary: boolean
  readonly retryAfter: number
}

export interface StillwireEvent<Detail> extends Event {
  readonly detail: Detail
}

type Listener<Detail> = ((event: StillwireEvent<Detail>) => void) | null

/** An `EventTarget` of these events. */
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
  welcome: Frame
  response: Frame
  presence: Frame
  /** An error of the relay that answers no request, or the reason of a failed handshake (`code`, `message`). */
  error: Frame
  bye: Frame
  /** Every frame in either direction, `hello` with its token too: not for logs that others read. */
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
  signal: Frame
  member: Frame
  counts: Frame
  receipt: Frame
  delivery: Frame
  room: Frame
}

export interface Room extends Target<RoomEvents> {
  readonly name: string
  readonly isJoined: boolean
  readonly presence: Presence
  join(): Promise<void>
  leave(how?: { stay?: boolean }): Promise<Frame | undefined>
  send(body: unknown, options?: SendOptions): Promise<SendReply>
  read(seq: number): void
  signal(name: string, body?: unknown): void
  edit(seq: number, body: unknown): Promise<Frame>
  delete(seq: number): Promise<Frame>
  notify(seq: number, users?: readonly string[]): Promise<Frame>
  history(page?: { before?: number; after?: number; limit?: number }): Promise<HistoryReply>
  messages(bound?: { limit?: number }): AsyncIterableIterator<Message>
}

export interface Stillwire extends Target<ClientEvents> {}
export class Stillwire {
  constructor(url: string | URL, options?: Options)
  readonly state: State
  readonly reason: string
  readonly user: string
  connect(): void
  close(code?: number, reason?: string): void
  request(type: string, fields?: Fields): Promise<Frame>
  tell(type: string, fields?: Fields): void
  room(name: string, first?: { history?: number }): Room
  setActivity(state: Activity | null): void
  setFocus(
    isFocused: boolean | null,
    fields?: { device?: string; source?: string; authorization?: string }
  ): Promise<Frame>
}

/** Reports of one device over HTTP, with its report key and without a session. */
export class Reporter {
  constructor(url: string | URL, reportKey: string, options?: { fetch?: typeof fetch; now?: () => number })
  focus(
    isFocused: boolean | null,
    fields?: { source?: string; authorization?: string; number?: number; at?: number }
  ): Promise<{ applied: boolean; isFocused: boolean | null; focusSince?: number; [field: string]: any }>
  filter(fields: { active: boolean; allow?: readonly string[]; number?: number }): Promise<{ applied: boolean }>
  respond(notification: string, fields: { action: string; text?: string; key?: string }): Promise<Fields>
  received(notification: string): Promise<Fields>
}

export const noPresence: Presence
/** The presence of a room after a reply to `join` (as `joined`), `presence` or `watch` (as `members`), or an event. */
export function presenceAfter(presence: Presence, input: { type: string; [field: string]: any }): Presence
/** Only a clear yes silences. */
export function isSilenced(entry: PresenceEntry | undefined): boolean
