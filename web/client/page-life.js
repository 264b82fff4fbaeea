// SPDX-License-Identifier: Apache-2.0

/** Milliseconds without any input after which nobody is taken to be looking. */
const idleAfter = 120_000
const inputs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart']

/**
 * Watches a page (a window, or what behaves like one) and returns a function that ends it. Tells `listener`
 * `active(state)` with `active`, `idle` or `background` when that changed; `suspended()` and `resumed()` around
 * the time in which the page does not run, frozen or in the back-forward cache; and `networkChanged(isOnline)`.
 */
export function watchPage(page, clock, listener) {
  const { document } = page
  const how = { passive: true, capture: true }
  const listening = []
  const listen = (target, type, act) => {
    target.addEventListener(type, act, how)
    listening.push(() => target.removeEventListener(type, act, how))
  }
  let state = 'active'
  let inputAt = clock.now()
  let timer = 0

  const become = (next) => {
    if (state === next) return
    state = next
    listener.active(state)
  }
  // One timer that looks again when there was input meanwhile: input is frequent, and timers are not free.
  const look = () => {
    clock.clearTimeout(timer)
    if (document.visibilityState === 'hidden') return become('background')
    const rest = inputAt + idleAfter - clock.now()
    if (rest > 0) timer = clock.setTimeout(look, rest)
    become(rest > 0 ? 'active' : 'idle')
  }
  const noticed = () => {
    inputAt = clock.now()
    if (state !== 'active') look()
  }

  for (const type of inputs) listen(page, type, noticed)
  listen(document, 'visibilitychange', () => {
    inputAt = clock.now()
    look()
  })
  // A page that keeps a socket is not cached by every browser, and one that is frozen cannot hear it.
  listen(page, 'pagehide', () => listener.suspended())
  listen(document, 'freeze', () => listener.suspended())
  listen(page, 'pageshow', () => listener.resumed())
  listen(document, 'resume', () => listener.resumed())
  for (const isOnline of [true, false]) {
    listen(page, isOnline ? 'online' : 'offline', () => listener.networkChanged(isOnline))
  }
  look()
  return () => {
    for (const end of listening) end()
    clock.clearTimeout(timer)
  }
}
