// SPDX-License-Identifier: Apache-2.0
// Formats times for the page, in the visitor's language.

const hoursAndMinutes = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const weekdayAndDate = new Intl.DateTimeFormat('en', { weekday: 'long', day: 'numeric', month: 'long' })

/** “14:32” or “2:32 PM”, as the visitor's language requires. */
export function timeOfDay(time) {
  return hoursAndMinutes.format(time)
}

/** The same without “AM” and “PM”, as a lock screen shows it. */
export function clockFace(time) {
  return hoursAndMinutes
    .formatToParts(time)
    .filter(({ type }) => ['hour', 'minute'].includes(type))
    .map(({ value }) => value)
    .join(':')
}

/** “Friday, November 21”. */
export function calendarDate(time) {
  return weekdayAndDate.format(time)
}

/** “now”, “5m” or “3h”: the age of a notification. */
export function age(time, now) {
  const minutes = Math.floor((now - time) / 60_000)
  if (minutes < 1) return 'now'
  return minutes < 60 ? `${minutes}m` : `${Math.floor(minutes / 60)}h`
}
