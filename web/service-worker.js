// SPDX-License-Identifier: Apache-2.0
// The service worker of the demo's page. It shows Web Push notifications, and opens the page for them.

// A browser starts the worker for a push, also if the page is closed.
addEventListener('push', (event) => event.waitUntil(take(event.data.json())))

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(showPage())
})

/**
 * The texts for the keys of pushes. These are the keys of the relay's own texts, which are English. An app adds the keys
 * that its backend sends (`titleKey`, `bodyKey`), and translates the texts into the language of the page.
 */
const texts = {
  'New message': 'New message',
  'Incoming call': 'Incoming call',
  'Missed call': 'Missed call',
  'Answered on another device': 'Answered on another device',
  'Declined on another device': 'Declined on another device',
  'Message deleted': 'Message deleted',
  '%@ messages': '%@ messages',
  '%@ messages in %@': '%@ messages in %@',
  '%@ messages in %@ rooms': '%@ messages in %@ rooms',
  '%@ invites you to %@': '%@ invites you to %@',
  '%@ invites you to a group': '%@ invites you to a group',
  '%@ wants to write to you': '%@ wants to write to you',
}

/**
 * Removes the notifications that a push names, shows the push, and sets the badge. Browsers require a visible
 * notification for each push, so a default text is used if it has none, and it is shown also if the browser refuses the
 * rest.
 */
async function take(payload) {
  await remove(payload).catch(() => {})
  await show(payload)
  await count(payload.aps).catch(() => {})
}

async function remove(payload) {
  const shown = await registration.getNotifications()
  for (const notification of shown) if (isRemoved(notification.data ?? {}, payload)) notification.close()
}

async function count({ badge }) {
  if (Number.isInteger(badge)) await navigator.setAppBadge?.(badge)
}

/** True if a push removes the notification with this `data`: one of the same account. */
function isRemoved({ recipient, identity, contents }, { read = [], removed = [], ...payload }) {
  if (!identity || recipient !== origin(payload).recipient) return false
  const isRead = (message) => read.some(({ room, seq }) => room === message.room && message.seq <= seq)
  const isNamed = removed.some(({ room, seq }) => room === identity.room && seq === identity.seq)
  // The notification of an invitation has no message.
  return isNamed || (contents.length > 0 && contents.every(isRead))
}

function show({ aps, message, digest, tag, ...payload }) {
  const alert = typeof aps.alert === 'string' ? { body: aps.alert } : (aps.alert ?? {})
  const subtitle = alert.subtitle ?? localized(alert, 'subtitle-loc')
  const body = alert.body ?? localized(alert, 'loc') ?? 'New message'
  const { recipient, replaces } = origin(payload)
  return registration.showNotification(alert.title ?? localized(alert, 'title-loc') ?? 'Stillwire', {
    body: [subtitle, body].filter(Boolean).join('\n'),
    // A retry, an edit and a digest replace the notification with the same tag.
    tag,
    icon: 'page/favicon.svg',
    silent: aps.sound === undefined,
    // The account, the name of the notification for a later removal, and the newest message of each room.
    data: { recipient, identity: replaces ?? message, contents: digest ?? (message ? [message] : []) },
  })
}

/** The object of a payload that names the account: `communication` for a message of a person, `push` for another. */
function origin({ communication, push }) {
  return communication ?? push ?? {}
}

/**
 * The text for a localization key, with its arguments: `%@` is the next one, and `%2$@` the second. Is undefined if
 * there is no key, or no text for it: a person never reads a key.
 */
function localized(alert, name) {
  const [key, values] = [alert[`${name}-key`], alert[`${name}-args`] ?? []]
  if (!Object.hasOwn(texts, key)) return undefined
  let next = 0
  return texts[key].replace(/%(?:(\d+)\$)?@/g, (_, position) => values[position ? position - 1 : next++] ?? '')
}

async function showPage() {
  const [page] = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  return page ? page.focus() : clients.openWindow(registration.scope)
}
