// SPDX-License-Identifier: Apache-2.0

const form = /^#([a-z0-9]{6,32})?(?:\/([1-6]))?$/
const shelf = 'stillwire.place'

/**
 * Returns the visitor's own place on this relay: a random suffix for the room and its people, and the step after which
 * the story starts. The address contains it, `#place/step`, so that a reload or a shared link leads to the same place.
 * The tab stores it, too. `#/3` is step 3 of the story in a new place.
 */
export function ownPlace() {
  const [, named, step] = form.exec(location.hash) ?? []
  const [, kept] = form.exec(`#${sessionStorage.getItem(shelf)}`) ?? []
  const place = named ?? (step ? null : kept) ?? randomPlace()
  showPlace(place)
  addEventListener('hashchange', () => {
    const [, other, step] = form.exec(location.hash) ?? []
    if (step || (other && other !== place)) location.reload()
  })
  return { place, step: Number(step ?? 0) }
}

/** Writes the address of this place. It omits the step, so that a reload does not play the story again. */
function showPlace(place) {
  sessionStorage.setItem(shelf, place)
  history.replaceState(null, '', `#${place}`)
}

/** Opens a new place, where the story starts after this step. */
export function startOver(step = 0) {
  sessionStorage.removeItem(shelf)
  location.hash = step ? `#/${step}` : ''
  if (!step) location.reload()
}

function randomPlace() {
  return Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => (byte % 36).toString(36)).join('')
}
