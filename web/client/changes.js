// SPDX-License-Identifier: Apache-2.0
// The changes of messages in a room that the app has. Pure functions without dependencies.

/** Maximum number of changes that are stored after a missing one. The app may get later ones again after a reconnect. */
const aheadLimit = 300

/**
 * The changes before the first join. Changes have these fields:
 *
 * - `newest`: the app has all changes up to this number. Is undefined if the relay does not number changes
 * - `ahead`: later changes that the app has. The change before them is one of this client that has no reply yet
 *
 * All values are frozen.
 */
export const noChanges = Object.freeze({ newest: undefined, ahead: Object.freeze([]) })

/** The types of the events of changes. */
const types = ['edited', 'deleted', 'reactions', 'pinned']

/** Returns true if a frame is the event of a change of a message. */
export function isChange(frame) {
  return types.includes(frame?.type)
}

/**
 * Returns the edit or the deletion that a request makes, as the event that other sessions get. Returns undefined for
 * other requests.
 */
export function requestedChange(type, { seq, body }) {
  if (type === 'edit') return { type: 'edited', seq, body }
  return type === 'delete' ? { type: 'deleted', seq } : undefined
}

/** Returns true if the app has the change with this number. */
export function hasChange({ newest, ahead }, number) {
  return Number.isSafeInteger(number) && (number <= newest || ahead.includes(number))
}

/** Returns the changes after an event, or after the reply to a change of this client. */
export function changesAfter(changes, number) {
  const { newest, ahead } = changes
  if (!Number.isSafeInteger(number) || newest === undefined || hasChange(changes, number)) return changes
  if (number > newest + 1) {
    return ahead.length < aheadLimit ? Object.freeze({ newest, ahead: Object.freeze([...ahead, number]) }) : changes
  }
  let last = number
  while (ahead.includes(last + 1)) last += 1
  return Object.freeze({ newest: last, ahead: Object.freeze(ahead.filter((other) => other > last)) })
}

/** Returns the changes after a reply to `join`, which is complete up to its `change`. */
export function changesAfterJoin({ change, changes }) {
  if (!Number.isSafeInteger(change) || change < 0) return noChanges
  let after = Object.freeze({ newest: change, ahead: noChanges.ahead })
  for (const other of Array.isArray(changes) ? changes : []) after = changesAfter(after, other?.change)
  return after
}
