// SPDX-License-Identifier: Apache-2.0

/** A phone's notifications, oldest first, as its push gateway delivered them. */
export const emptyPhone = Object.freeze([])

/**
 * The phone after one more push. A push with the collapse id of an earlier one takes its place; one
 * without text only sets a badge. A Focus keeps the screen dark unless the push may break through.
 */
export function phoneAfter(notifications, push, { isFocused, readUpTo }) {
  const { aps } = push.payload
  const id = push.headers['apns-collapse-id'] ?? push.headers['apns-id']
  const known = notifications.find((other) => other.id === id)
  if (!aps?.alert || known?.push === push.headers['apns-id'] || isRead(push.payload.message, readUpTo)) {
    return notifications
  }
  const alert = typeof aps.alert === 'string' ? { body: aps.alert } : aps.alert
  const sender = push.payload.communication?.sender
  const isUrgent = ['time-sensitive', 'critical'].includes(aps['interruption-level'])
  const isAnyway = push.payload.communication?.notifyAnyway === true
  const notification = {
    id,
    push: push.headers['apns-id'],
    thread: aps['thread-id'] ?? '',
    from: sender?.name ?? alert.title ?? '',
    title: alert.title ?? localized(alert, 'title-loc') ?? sender?.name ?? 'Notification',
    subtitle: alert.subtitle ?? localized(alert, 'subtitle-loc') ?? '',
    body: alert.body ?? localized(alert, 'loc') ?? 'New message',
    time: push.time,
    message: push.payload.message,
    isUrgent,
    isAnyway,
    isQuiet: aps['interruption-level'] === 'passive' || (isFocused && !isUrgent && !isAnyway),
  }
  return Object.freeze([...notifications.filter((other) => other.id !== id), notification])
}

/**
 * What is left once everything up to `readUpTo` ({`room`, `epoch`, `seq`}) was read in the app. Messages of
 * another epoch of the room are gone with that epoch.
 */
export function phoneAfterReading(notifications, readUpTo) {
  const isGone = (message) => message?.room === readUpTo.room && message.epoch !== readUpTo.epoch
  const left = notifications.filter(({ message }) => !isGone(message) && !isRead(message, readUpTo))
  return left.length === notifications.length ? notifications : Object.freeze(left)
}

/** The lock screen's stacks, newest first: one per thread, those that lit up the screen before the quiet ones. */
export function stacks(notifications) {
  const byThread = new Map()
  for (const notification of notifications.toReversed()) {
    const stack = byThread.get(notification.thread)
    if (stack) stack.push(notification)
    else byThread.set(notification.thread, [notification])
  }
  const all = [...byThread].map(([thread, stack]) => ({
    thread,
    notifications: stack,
    isQuiet: stack.every(({ isQuiet }) => isQuiet),
  }))
  return [...all.filter(({ isQuiet }) => !isQuiet), ...all.filter(({ isQuiet }) => isQuiet)]
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
