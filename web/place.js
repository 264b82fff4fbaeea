// SPDX-License-Identifier: Apache-2.0

const form = /^[a-z0-9]{6,32}$/
const shelf = 'stillwire.place'

/**
 * The visitor's own place on this relay: a random suffix for the room and the people in it. It is kept in
 * the address, so that a reload finds it and a shared link meets there, and otherwise in the tab.
 */
export function ownPlace() {
  const known = [location.hash.slice(1), sessionStorage.getItem(shelf) ?? ''].find((text) => form.test(text))
  const place = known ?? randomPlace()
  sessionStorage.setItem(shelf, place)
  history.replaceState(null, '', `#${place}`)
  addEventListener('hashchange', () => {
    if (form.test(location.hash.slice(1)) && location.hash !== `#${place}`) location.reload()
  })
  return place
}

function randomPlace() {
  return Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => (byte % 36).toString(36)).join('')
}
