// SPDX-License-Identifier: Apache-2.0

/** The name of the app, as iOS shows it where no person stands for a notification. */
const app = 'Stillwire'

/**
 * The intent that the app's notification service extension makes of a payload; null for a plain notification, and
 * where no extension runs: iOS runs it for a push with `mutable-content` only.
 */
export function intentOf({ aps, communication }, hasExtension) {
  return hasExtension && aps['mutable-content'] === 1 && communication?.sender?.id ? communication : null
}

/** The ids of a push, {`notification`, `receipt`}: in `communication` of a person's message, else in `push`. */
export function pushIDs({ communication, push }) {
  return communication ?? push ?? {}
}

/**
 * What iOS shows of a push: {`from`, `title`, `subtitle`, `body`, `isPerson`}. With an intent, the sender and the
 * conversation replace the title and the subtitle, and the sender's picture replaces the app's icon.
 */
export function appearance({ aps }, intent) {
  const alert = typeof aps.alert === 'string' ? { body: aps.alert } : aps.alert
  const body = alert.body ?? localized(alert, 'loc') ?? 'New message'
  const title = alert.title ?? localized(alert, 'title-loc') ?? app
  if (!intent) {
    const subtitle = alert.subtitle ?? localized(alert, 'subtitle-loc') ?? ''
    return { from: app, title, subtitle, body, isPerson: false }
  }
  const name = intent.sender.name ?? intent.sender.id
  return { from: name, title: name, subtitle: groupLine(intent), body, isPerson: true }
}

/** The line under the sender: the name of the group, or how many people the message is for; empty for a direct one. */
function groupLine({ kind, conversation }) {
  if (kind === 'call' || !conversation?.group) return ''
  // The count is of all but the sender, so that the user is one of them.
  const others = conversation.recipientCount - 1
  if (conversation.name) return conversation.name
  return others > 0 ? `To you and ${others} ${others === 1 ? 'other' : 'others'}` : ''
}

/** This phone's app has no text for any key, so that it shows the key itself, with its arguments. */
function localized(alert, name) {
  let next = 0
  return alert[`${name}-key`]?.replace(/%(?:(\d+)\$)?@/g, (_, place) => {
    const index = place ? Number(place) - 1 : next++
    return alert[`${name}-args`]?.[index] ?? ''
  })
}
