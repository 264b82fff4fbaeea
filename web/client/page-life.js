// SPDX-License-Identifier: Apache-2.0
// The activity of a page: input, visibility, freezing and network. No dependencies.

/** Milliseconds without input after which the person is idle. */
const idleAfter = 120_000
const inputs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart']

/**
 * Watches a page (a window, or an object with the same events). Returns a function that ends the watch. It calls these
 * methods of `listener`:
 *
 * - `active(state)` when the state changes: `active`, `idle` or `background`
 * - `suspended()` when the page stops, frozen or in the back-forward cache
 * - `resumed()` when the page runs again, or becomes visible
 * - `networkChanged(isOnline)`
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
  let inputAt = clock.elapsed()
  let timer = 0

  const become = (next) => {
    if (state === next) return
    state = next
    listener.active(state)
  }
  // One timer checks for input since the last check. To restart a timer at each input would cost too much.
  const look = () => {
    clock.clearTimeout(timer)
    if (document.visibilityState === 'hidden') return become('background')
    const rest = inputAt + idleAfter - clock.elapsed()
    if (rest > 0) timer = clock.setTimeout(look, rest)
    become(rest > 0 ? 'active' : 'idle')
  }
  const noticed = () => {
    inputAt = clock.elapsed()
    if (state !== 'active') look()
  }

  for (const type of inputs) listen(page, type, noticed)
  listen(document, 'visibilitychange', () => {
    inputAt = clock.elapsed()
    look()
    if (state === 'active') listener.resumed()
  })
  // Some browsers do not cache a page with an open socket, and a frozen page cannot read from it.
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
