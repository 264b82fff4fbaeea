// SPDX-License-Identifier: Apache-2.0

/**
 * The Focus that a person has chosen on their phone, of which apps are told little: `mode` (`off`, `work`, `dnd`), and
 * for `work` the `people` and whether this app (`allowsApp`) break through, and `filter`: `none`, or an app's filter
 * that lets this conversation `in` or keeps it `out`.
 */
export const focusOff = Object.freeze({ mode: 'off', people: Object.freeze([]), allowsApp: false, filter: 'none' })

export const focusNames = { off: 'Off', work: 'Work', dnd: 'Do Not Disturb' }

/** Whether this is a Focus as described here. */
export function isFocus(value) {
  return (
    value?.mode in focusNames && Array.isArray(value.people) && ['none', 'in', 'out'].includes(value.filter)
  )
}

/** The label of all that the filter of this app lets through. */
export const filterLabel = 'work'

/** What `INFocusStatusCenter` tells this app, with the person's consent. */
export function isFocusedFor({ mode, allowsApp }) {
  return mode !== 'off' && !(mode === 'work' && allowsApp)
}

/** The labels that the filter of this Focus lets through; null when none is active. */
export function allowedLabels({ mode, filter }) {
  return mode === 'work' && filter !== 'none' ? [filterLabel] : null
}

/** The label that the person gives this conversation, for the filter to go by. */
export function ownLabel({ filter }) {
  return { none: null, in: filterLabel, out: 'home' }[filter]
}

/**
 * How the phone takes a push: {`isQuiet`, `why`}. It alone knows whom the Focus allows. iOS matches Allowed People by
 * the handle of the `intent`, so that nobody breaks through a push without one.
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
