// SPDX-License-Identifier: Apache-2.0

/**
 * Calls `act` at most once per `interval` milliseconds: at once when it has been quiet, and once more
 * at the end of the interval when it was asked in between.
 */
export function paced(interval, act) {
  let timer = 0
  let isAsked = false
  const run = () => {
    isAsked = false
    timer = setTimeout(() => {
      timer = 0
      if (isAsked) run()
    }, interval)
    act()
  }
  return () => {
    isAsked = true
    if (!timer) run()
  }
}
