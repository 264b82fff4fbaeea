// SPDX-License-Identifier: Apache-2.0
// The parts of iOS that the demo imitates: the notification service extension, and the text of a notification.

/** The name of the app. iOS shows it on a notification without a person. */
const app = 'Stillwire'

/**
 * The intent that the app's notification service extension makes from a payload. Is null for a plain notification, and
 * if no extension runs. iOS runs it only for a push with `mutable-content`.
 */
export function intentOf({ aps, communication }, hasExtension) {
  return hasExtension && aps['mutable-content'] === 1 && communication?.sender?.id ? communication : null
}

/**
 * The account and the ids of a push: {`recipient`, `notification`, `receipt`, `replaces`}. A message has them in
 * `communication`, another push in `push`.
 */
export function originOf({ communication, push }) {
  return communication ?? push ?? {}
}

/**
 * The texts that iOS shows for a push: {`from`, `title`, `subtitle`, `body`, `isPerson`}. With an intent, the sender
 * and the conversation replace the title and the subtitle, and the sender's picture replaces the app's icon.
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

const endedCall = ['Missed call', 'Answered on another device', 'Declined on another device']

/** The category of a push, which has the buttons. The app's extension removes it from a call that is over. */
export function categoryOf({ aps }, intent) {
  return intent?.kind === 'call' && endedCall.includes(aps.alert['loc-key']) ? undefined : aps.category
}

/** The line under the sender: the name of the group, or the number of recipients. Is empty for a direct message. */
function groupLine({ kind, conversation }) {
  if (kind === 'call' || !conversation?.group) return ''
  if (conversation.name) return conversation.name
  // The count includes the user, see "Fields for the app's extension" in Payload.md.
  const others = conversation.recipientCount - 1
  return others > 0 ? `To you and ${others} ${others === 1 ? 'other' : 'others'}` : 'To you'
}

/** The text for a localization key. The demo's app has no texts, so it shows the key itself with its arguments. */
function localized(alert, name) {
  let next = 0
  return alert[`${name}-key`]?.replace(/%(?:(\d+)\$)?@/g, (_, place) => {
    const index = place ? Number(place) - 1 : next++
    return alert[`${name}-args`]?.[index] ?? ''
  })
}
