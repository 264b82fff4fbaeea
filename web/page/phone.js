// SPDX-License-Identifier: Apache-2.0
import { standing } from './focus.js'
import { appearance, intentOf, pushIDs } from './ios.js'

/**
 * What a phone shows while its app is closed: `notifications`, oldest first, as its push gateway delivered them, the
 * `badge` of the app, and the `call` that rings. With `hasSummary` the scheduled summary collects what is passive, and
 * what is plain and active; messages of people do not wait for it. `hasExtension` says whether the app has a
 * notification service extension, without which iOS takes no push for a message of a person.
 * `gone` are the newest pushes that were answered, which a gateway that is asked again still knows.
 */
export const emptyPhone = Object.freeze({
  notifications: Object.freeze([]),
  badge: 0,
  call: null,
  hasSummary: false,
  hasExtension: true,
  gone: Object.freeze([]),
})

const mostGone = 100

/**
 * The phone after one more push. One with the collapse id of an earlier takes its place; one without text only sets
 * the badge. `focus` is that of the phone; what was read up to `readUpTo` ({`room`, `epoch`, `seq`}) is not shown.
 */
export function phoneAfter(phone, push, { focus, readUpTo, now }) {
  const { aps, message } = push.payload
  const intent = intentOf(push.payload, phone.hasExtension)
  const id = push.headers['apns-collapse-id'] ?? push.headers['apns-id']
  const known = [...phone.gone, phone.call?.push, ...phone.notifications.map((other) => other.push)]
  if (known.includes(push.headers['apns-id']) || isRead(message, readUpTo)) return phone
  const badged = Number.isInteger(aps?.badge) ? { ...phone, badge: aps.badge } : phone
  if (!aps?.alert) return badged
  const notification = shown(push, id, intent, focus)
  const others = phone.notifications.filter((other) => other.id !== id)
  const until = 1000 * push.headers['apns-expiration']
  // The extension reports a call to CallKit. Without it, or where the Focus does not allow the caller, the call is a
  // notification.
  if (intent?.kind === 'call' && aps['interruption-level'] !== 'passive') {
    // One rings at a time.
    if (!notification.isQuiet && !phone.call) {
      return until > now ? { ...badged, call: { ...notification, until } } : badged
    }
  }
  const call = phone.call?.id === id ? null : phone.call
  const isSummarized = phone.hasSummary && waitsForSummary(aps['interruption-level'], intent)
  return { ...badged, call, notifications: [...others, { ...notification, isSummarized }] }
}

/**
 * What is left once everything up to `readUpTo` was read in the app. Messages of another epoch of the room are gone
 * with that epoch.
 */
export function phoneAfterReading(phone, readUpTo) {
  const isGone = (message) => message?.room === readUpTo.room && message.epoch !== readUpTo.epoch
  const left = phone.notifications.filter(({ message }) => !isGone(message) && !isRead(message, readUpTo))
  return left.length === phone.notifications.length ? phone : { ...phone, notifications: left, badge: left.length }
}

/** The phone when the app is opened: the app removes notifications that belong to no conversation. */
export function phoneAfterOpening(phone) {
  const gone = phone.notifications.filter(({ message }) => !message).map(({ push }) => push)
  const notifications = phone.notifications.filter(({ message }) => message)
  return { ...phone, notifications, gone: [...phone.gone, ...gone].slice(-mostGone) }
}

/** The phone after something was done with a notification or a call. */
export function phoneWithout(phone, { id, push }) {
  const notifications = phone.notifications.filter((other) => other.id !== id)
  const call = phone.call?.id === id ? null : phone.call
  // The app that was told of it counts one less.
  const badge = Math.max(0, phone.badge - 1)
  return { ...phone, notifications, call, badge, gone: [...phone.gone, push].slice(-mostGone) }
}

/** The phone with a scheduled summary, or without; what waited for it is delivered then. */
export function phoneWithSummary(phone, hasSummary) {
  const isSummarized = (other) => hasSummary && other.isSummarized
  const notifications = phone.notifications.map((other) => ({ ...other, isSummarized: isSummarized(other) }))
  return { ...phone, hasSummary, notifications }
}

/**
 * The lock screen's stacks, newest first: one per thread, those that lit up the screen before the quiet ones, and what
 * waits for the summary last.
 */
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
  const { notification } = pushIDs(push.payload)
  const place = standing(push.payload, intent, focus)
  return {
    id,
    push: push.headers['apns-id'],
    notification,
    category: aps.category,
    thread: aps['thread-id'] ?? '',
    ...appearance(push.payload, intent),
    time: push.time,
    message,
    isDigest: digest !== undefined,
    hasSound: aps.sound !== undefined && !place.isQuiet,
    ...place,
  }
}

function waitsForSummary(level, intent) {
  return level === 'passive' || (level === 'active' && !intent)
}

function isRead(message, readUpTo) {
  return (
    message !== undefined &&
    message.room === readUpTo.room &&
    message.epoch === readUpTo.epoch &&
    message.seq <= readUpTo.seq
  )
}
