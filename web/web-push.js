// SPDX-License-Identifier: Apache-2.0

/** The relay's key for pushes to browsers; null where this browser or the relay has none. */
export async function webPushKey() {
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) return null
  const response = await fetch(new URL('v1/webpush', document.baseURI))
  return response.ok ? (await response.json()).publicKey : null
}

/**
 * Asks whoever sits here for permission, and registers this browser as a device of `user`. Throws an `Error`
 * with the reason.
 */
export async function pushHere(user, key) {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('the browser may not notify')
  await navigator.serviceWorker.register(new URL('service-worker.js', document.baseURI))
  const { pushManager } = await navigator.serviceWorker.ready
  const subscription = await subscribed(pushManager, key)
  const path = `v1/users/${encodeURIComponent(user)}/devices/browser`
  const response = await fetch(new URL(path, document.baseURI), {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'X-Stillwire-User': user },
    body: JSON.stringify({ platform: 'webpush', token: subscription }),
  })
  if (!response.ok) throw new Error((await response.json()).detail ?? `status ${response.status}`)
}

async function subscribed(pushManager, applicationServerKey) {
  const options = { userVisibleOnly: true, applicationServerKey }
  try {
    return await pushManager.subscribe(options)
  } catch (error) {
    // A subscription is bound to the key that the relay had then.
    if (error.name !== 'InvalidStateError') throw error
    await (await pushManager.getSubscription())?.unsubscribe()
    return pushManager.subscribe(options)
  }
}
