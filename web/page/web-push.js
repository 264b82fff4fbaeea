// SPDX-License-Identifier: Apache-2.0
import { call, segment } from './api.js'

/** Requests the visitor's permission, and registers this browser as a device of `user`. Throws an `Error`. */
export async function pushHere(user, key) {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('the browser refuses notifications')
  await navigator.serviceWorker.register(new URL('service-worker.js', document.baseURI))
  const { pushManager } = await navigator.serviceWorker.ready
  const subscription = await subscribed(pushManager, key)
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const body = { platform: 'webpush', token: subscription, timeZone }
  await call('PUT', `v1/users/${segment(user)}/devices/browser`, { user, body })
}

async function subscribed(pushManager, applicationServerKey) {
  const options = { userVisibleOnly: true, applicationServerKey }
  try {
    return await pushManager.subscribe(options)
  } catch (error) {
    // The existing subscription belongs to an earlier key of the relay.
    if (error.name !== 'InvalidStateError') throw error
    await (await pushManager.getSubscription())?.unsubscribe()
    return pushManager.subscribe(options)
  }
}
