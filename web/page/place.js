// SPDX-License-Identifier: Apache-2.0

const form = /^#([a-z0-9]{6,32})?(?:\/([1-6]))?$/
const shelf = 'stillwire.place'

/**
 * The visitor's own place on this relay: a random suffix for the room and the people in it, and the step of the story
 * to begin after. It is kept in the address, `#place/step`, so that a reload finds it and a shared link leads there, and
 * otherwise in the tab. `#/3` is step 3 of the story in a new place.
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

/** Writes the address of this place, without its step: a reload is no replay. */
function showPlace(place) {
  sessionStorage.setItem(shelf, place)
  history.replaceState(null, '', `#${place}`)
}

/** Leads to a new place, where the story begins after the given step. */
export function startOver(step = 0) {
  sessionStorage.removeItem(shelf)
  location.hash = step ? `#/${step}` : ''
  if (!step) location.reload()
}

function randomPlace() {
  return Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => (byte % 36).toString(36)).join('')
}
