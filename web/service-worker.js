// SPDX-License-Identifier: Apache-2.0

// Browsers start this for a push, whether or not the page is open.
addEventListener('push', (event) => event.waitUntil(show(event.data.json())))

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(showPage())
})

/** Every push is to be shown, so there is a text for each. */
function show({ aps, message }) {
  const alert = typeof aps.alert === 'string' ? { body: aps.alert } : aps.alert
  return registration.showNotification(alert.title ?? alert['title-loc-key'] ?? 'Stillwire', {
    body: [alert.subtitle, alert.body ?? alert['loc-key']].filter(Boolean).join('\n'),
    // A retry, an edit and a digest replace the notification of the same message.
    tag: message ? `${message.room}/${message.seq}` : aps['thread-id'],
    icon: 'page/favicon.svg',
    silent: aps.sound === undefined,
  })
}

async function showPage() {
  const [page] = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  return page ? page.focus() : clients.openWindow(registration.scope)
}
