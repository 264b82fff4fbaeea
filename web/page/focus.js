// SPDX-License-Identifier: Apache-2.0

/**
 * The Focus that a person has chosen on their phone. An app sees only a small part of it. It has these fields:
 *
 * - `mode`: `off`, `work` or `dnd`
 * - `people`, for `work`: the people who break through
 * - `allowsApp`, for `work`: true if this app breaks through
 * - `filter`: `none`, or the app's filter: it lets this conversation `in`, or keeps it `out`
 */
export const focusOff = Object.freeze({ mode: 'off', people: Object.freeze([]), allowsApp: false, filter: 'none' })

export const focusNames = { off: 'Off', work: 'Work', dnd: 'Do Not Disturb' }

/** Returns true if the value is a Focus with these fields. */
export function isFocus(value) {
  return (
    value?.mode in focusNames && Array.isArray(value.people) && ['none', 'in', 'out'].includes(value.filter)
  )
}

/** The label that the filter of this app lets through. */
export const filterLabel = 'work'

/** The value that `INFocusStatusCenter` gives this app, with the person's consent. */
export function isFocusedFor({ mode, allowsApp }) {
  return mode !== 'off' && !(mode === 'work' && allowsApp)
}

/** The labels that the filter of this Focus lets through. Is null without a filter. */
export function allowedLabels({ mode, filter }) {
  return mode === 'work' && filter !== 'none' ? [filterLabel] : null
}

/**
 * The label of this conversation. The demo chooses it so that the filter lets the conversation in or keeps it out. Is
 * null without a filter.
 */
export function ownLabel({ filter }) {
  return { none: null, in: filterLabel, out: 'home' }[filter]
}

/**
 * Returns how the phone presents a push: {`isQuiet`, `why`}. Only the phone knows the people that the Focus allows. iOS
 * compares Allowed People with the handle of the `intent`, so a push without an intent does not break through.
 */
export function standing({ aps }, intent, focus) {
  const level = aps['interruption-level']
  const name = focusNames[focus.mode]
  const allowed = allowedLabels(focus)
  const label = aps['filter-criteria']
  if (level === 'passive') return { isQuiet: true, why: 'Passive' }
  if (level === 'critical') return { isQuiet: false, why: 'Critical' }
  if (level === 'time-sensitive') return { isQuiet: false, why: 'Time sensitive' }
  if (intent?.notifyAnyway) return { isQuiet: false, why: 'Notified anyway' }
  if (focus.mode === 'off') return { isQuiet: false, why: '' }
  if (allowed && label && !allowed.includes(label)) return { isQuiet: true, why: `Filtered by ${name}` }
  if (focus.mode === 'work') {
    if (focus.allowsApp) return { isQuiet: false, why: `${name} allows this app` }
    if (focus.people.includes(intent?.sender.handle)) {
      return { isQuiet: false, why: `${name} allows ${intent.sender.name}` }
    }
  }
  return { isQuiet: true, why: `Silenced by ${name}` }
}

/** Returns true if the Focus lets a call of this user ring. */
export function letsThrough(focus, user) {
  return !standing({ aps: { 'interruption-level': 'active' } }, { sender: { handle: user } }, focus).isQuiet
}
