// SPDX-License-Identifier: Apache-2.0
import { standing } from './focus.js'

/**
 * What a phone shows while its app is closed: `notifications`, oldest first, as its push gateway delivered them, the
 * `badge` of the app, and the `call` that rings. With `hasSummary` what is passive waits for the scheduled summary.
 * `gone` are the newest pushes that were answered, which a gateway that is asked again still knows.
 */
export const emptyPhone = Object.freeze({
  notifications: Object.freeze([]),
  badge: 0,
  call: null,
  hasSummary: false,
  gone: Object.freeze([]),
})

const mostGone = 100

/**
 * The phone after one more push. One with the collapse id of an earlier takes its place; one without text only sets
 * the badge. `focus` is that of the phone; what was read up to `readUpTo` ({`room`, `epoch`, `seq`}) is not shown.
 */
export function phoneAfter(phone, push, { focus, readUpTo, now }) {
  const { aps, communication, message } = push.payload
  const id = push.headers['apns-collapse-id'] ?? push.headers['apns-id']
  const known = [...phone.gone, phone.call?.push, ...phone.notifications.map((other) => other.push)]
  if (known.includes(push.headers['apns-id']) || isRead(message, readUpTo)) return phone
  const badged = Number.isInteger(aps?.badge) ? { ...phone, badge: aps.badge } : phone
  if (!aps?.alert) return badged
  const notification = shown(push, id, focus)
  const others = phone.notifications.filter((other) => other.id !== id)
  const until = 1000 * push.headers['apns-expiration']
  if (communication?.kind === 'call' && aps['interruption-level'] !== 'passive') {
    // A Focus that does not allow the caller keeps the call from ringing; it stays as a notification.
    // One rings at a time.
    if (!notification.isQuiet && !phone.call) {
      return until > now ? { ...badged, call: { ...notification, until } } : badged
    }
  }
  const call = phone.call?.id === id ? null : phone.call
  const isSummarized = phone.hasSummary && aps['interruption-level'] === 'passive'
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

function shown(push, id, focus) {
  const { aps, communication, message, digest } = push.payload
  const alert = typeof aps.alert === 'string' ? { body: aps.alert } : aps.alert
  const sender = communication?.sender
  return {
    id,
    push: push.headers['apns-id'],
    notification: communication?.notification,
    category: aps.category,
    thread: aps['thread-id'] ?? '',
    from: sender?.name ?? alert.title ?? '',
    title: alert.title ?? localized(alert, 'title-loc') ?? sender?.name ?? 'Notification',
    subtitle: alert.subtitle ?? localized(alert, 'subtitle-loc') ?? '',
    body: alert.body ?? localized(alert, 'loc') ?? 'New message',
    time: push.time,
    message,
    isDigest: digest !== undefined,
    ...standing(push.payload, focus),
  }
}

/** This phone's app has no text for any key, so that it shows the key itself, with its arguments. */
function localized(alert, name) {
  let next = 0
  return alert[`${name}-key`]?.replace(/%(?:(\d+)\$)?@/g, (_, place) => {
    const index = place ? Number(place) - 1 : next++
    return alert[`${name}-args`]?.[index] ?? ''
  })
}

function isRead(message, readUpTo) {
  return (
    message !== undefined &&
    message.room === readUpTo.room &&
    message.epoch === readUpTo.epoch &&
    message.seq <= readUpTo.seq
  )
}
