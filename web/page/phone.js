// SPDX-License-Identifier: Apache-2.0
import { standing } from './focus.js'
import { appearance, categoryOf, intentOf, originOf } from './ios.js'

/**
 * The state of a phone. All functions here are pure. A phone has these fields:
 *
 * - `notifications`, oldest first, as the push gateway delivered them
 * - `badge` of the app
 * - `call` that rings
 * - `hasSummary`: the scheduled summary collects passive notifications, and active ones without a person
 * - `hasExtension`: the app has a notification service extension. Without it iOS shows no push as a person's message.
 * - `gone`: the newest pushes that the person has answered. The gateway can deliver them again.
 */
export const emptyPhone = Object.freeze({
  notifications: Object.freeze([]),
  badge: 0,
  call: null,
  hasSummary: false,
  hasExtension: true,
  gone: Object.freeze([]),
})

const maxGone = 100

/**
 * Returns the phone after one more push. A push replaces an earlier one with the same collapse id, and removes the
 * notifications that its `read` and `removed` name. A push without text only removes, or sets the badge. Messages up to
 * `readUpTo` ({`user`, `room`, `epoch`, `seq`}) are read by this account, and not shown.
 */
export function phoneAfter(former, push, { focus, readUpTo, now }) {
  const { aps, message } = push.payload
  const phone = phoneAfterRemovals(former, push.payload)
  const intent = intentOf(push.payload, phone.hasExtension)
  const id = push.headers['apns-collapse-id'] ?? push.headers['apns-id']
  const known = [...phone.gone, phone.call?.push, ...phone.notifications.map((other) => other.push)]
  const { recipient } = originOf(push.payload)
  if (known.includes(push.headers['apns-id']) || isRead({ message, recipient }, readUpTo)) return phone
  const badged = Number.isInteger(aps?.badge) ? { ...phone, badge: aps.badge } : phone
  if (!aps?.alert) return badged
  const notification = shown(push, id, intent, focus)
  const others = phone.notifications.filter((other) => other.id !== id)
  const until = 1000 * push.headers['apns-expiration']
  // The extension reports a call to CallKit. Without it, or if the Focus does not allow the caller, the call is a
  // notification.
  if (intent?.kind === 'call' && aps['interruption-level'] !== 'passive' && recipient === readUpTo.user) {
    // Only one call rings at a time. The demo shows the call screen for calls to the phone's own person only.
    if (!notification.isQuiet && !phone.call) {
      return until > now ? { ...badged, call: { ...notification, until } } : badged
    }
  }
  const call = phone.call?.id === id ? null : phone.call
  const isSummarized = phone.hasSummary && waitsForSummary(aps['interruption-level'], intent)
  return { ...badged, call, notifications: [...others, { ...notification, isSummarized }] }
}

/** Returns the phone without the notifications that a payload removes: those of its own account. */
function phoneAfterRemovals(phone, { read = [], removed = [], ...payload }) {
  const isRead = (message) => read.some(({ room, seq }) => room === message.room && message.seq <= seq)
  const isGone = ({ identity, recipient, contents }) =>
    identity !== undefined &&
    recipient === originOf(payload).recipient &&
    (removed.some(({ room, seq }) => room === identity.room && seq === identity.seq) ||
      // The notification of an invitation has no message.
      (contents.length > 0 && contents.every(isRead)))
  const notifications = phone.notifications.filter((notification) => !isGone(notification))
  return notifications.length === phone.notifications.length ? phone : { ...phone, notifications }
}

/**
 * Returns the phone without the notifications that are not in the gateway's list ({`notifications`, `badge`}): pushes
 * that the page did not see have removed them.
 */
export function phoneAfterListing(phone, { notifications, badge }) {
  const listed = new Set(notifications.map(({ headers }) => headers['apns-id']))
  const left = phone.notifications.filter(({ push }) => listed.has(push))
  return left.length === phone.notifications.length ? phone : { ...phone, notifications: left, badge }
}

/**
 * Returns the phone without the notifications of messages up to `readUpTo`, and of messages of an earlier epoch. The
 * notifications of other accounts stay.
 */
export function phoneAfterReading(phone, readUpTo) {
  const isGone = ({ message, recipient }) =>
    recipient === readUpTo.user && message?.room === readUpTo.room && message.epoch !== readUpTo.epoch
  const left = phone.notifications.filter((notification) => !isGone(notification) && !isRead(notification, readUpTo))
  return left.length === phone.notifications.length ? phone : { ...phone, notifications: left, badge: left.length }
}

/** Returns the phone after the app was opened. The app removes notifications without a conversation. */
export function phoneAfterOpening(phone) {
  const gone = phone.notifications.filter(({ message }) => !message).map(({ push }) => push)
  const notifications = phone.notifications.filter(({ message }) => message)
  return { ...phone, notifications, gone: [...phone.gone, ...gone].slice(-maxGone) }
}

/** Returns the phone after the person has answered a notification or a call. */
export function phoneWithout(phone, { id, push }) {
  const notifications = phone.notifications.filter((other) => other.id !== id)
  const call = phone.call?.id === id ? null : phone.call
  // The app handles the answer, and lowers its badge.
  const badge = Math.max(0, phone.badge - 1)
  return { ...phone, notifications, call, badge, gone: [...phone.gone, push].slice(-maxGone) }
}

/** Returns the phone after an account has signed out. */
export function phoneWithoutAccount(phone, user) {
  return { ...phone, notifications: phone.notifications.filter(({ recipient }) => recipient !== user) }
}

/** Returns the phone with or without a scheduled summary. Without one, the waiting notifications are delivered. */
export function phoneWithSummary(phone, hasSummary) {
  const isSummarized = (other) => hasSummary && other.isSummarized
  const notifications = phone.notifications.map((other) => ({ ...other, isSummarized: isSummarized(other) }))
  return { ...phone, hasSummary, notifications }
}

/** Returns the lock screen's stacks, one for each thread, newest first: loud ones, quiet ones, then the summary. */
export function stacks(notifications) {
  const all = new Map()
  for (const notification of notifications.toReversed()) {
    const place = notification.isSummarized ? 'summary' : notification.isQuiet ? 'quiet' : 'loud'
    const thread = place === 'summary' ? place : `${place} ${notification.thread}`
    const stack = all.get(thread) ?? { thread, place, notifications: [] }
    stack.notifications.push(notification)
    all.set(thread, stack)
  }
  return ['loud', 'quiet', 'summary'].flatMap((place) => [...all.values()].filter((stack) => stack.place === place))
}

function shown(push, id, intent, focus) {
  const { aps, message, digest } = push.payload
  const { notification, recipient, replaces } = originOf(push.payload)
  const place = standing(push.payload, intent, focus)
  return {
    id,
    push: push.headers['apns-id'],
    notification,
    category: categoryOf(push.payload, intent),
    thread: aps['thread-id'] ?? '',
    ...appearance(push.payload, intent),
    time: push.time,
    message,
    recipient,
    // The message that names the notification in `removed`: a changed digest keeps its first name.
    identity: replaces ?? message,
    // The newest message of each room.
    contents: digest ?? (message ? [message] : []),
    sender: intent?.sender.id,
    isDigest: digest !== undefined,
    isInvitation: push.payload.invitation !== undefined,
    hasSound: aps.sound !== undefined && !place.isQuiet,
    ...place,
  }
}

function waitsForSummary(level, intent) {
  return level === 'passive' || (level === 'active' && !intent)
}

function isRead({ message, recipient }, readUpTo) {
  return (
    message !== undefined &&
    recipient === readUpTo.user &&
    message.room === readUpTo.room &&
    message.epoch === readUpTo.epoch &&
    message.seq <= readUpTo.seq
  )
}
