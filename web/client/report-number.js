// SPDX-License-Identifier: Apache-2.0

/**
 * The number of a device's next report, above `last`, at `now` in milliseconds. The relay ignores a report whose number
 * is not above the last one. The clock makes numbers rise over restarts, and over several tabs of one person.
 */
export function nextReportNumber(last, now) {
  return Math.max(last + 1, now)
}
