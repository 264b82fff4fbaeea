// SPDX-License-Identifier: Apache-2.0

/**
 * Returns the number of a device's next report, above `last`. `now` is the time in milliseconds. The relay ignores a
 * report if its number is not above the last one. The clock makes the numbers increase across restarts and across
 * several tabs of one person.
 */
export function nextReportNumber(last, now) {
  return Math.max(last + 1, now)
}
