// SPDX-License-Identifier: Apache-2.0
// The service worker of the demo's page. It shows Web Push notifications, and opens the page for them.

// A browser starts the worker for a push, also if the page is closed.
addEventListener('push', (event) => event.waitUntil(show(event.data.json())))

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(showPage())
})

/** Shows a push. Browsers require a visible notification for each push, so a default text is used if it has none. */
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
