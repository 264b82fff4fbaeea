// SPDX-License-Identifier: Apache-2.0

/** Whether a close code allows to come back without anything having changed. */
export function comesBack(code) {
  return code < 4500 || code > 4999
}

/**
 * Why the relay does not let the client back in, in the relay's own words: the `error` frame that answered `hello`
 * (`unauthorized: the token has expired`), else the reason of the close.
 */
export function refusal(code, reason, error) {
  if (error?.code) return error.message ? `${error.code}: ${error.message}` : error.code
  return reason || `the relay closed with code ${code}`
}

/**
 * Milliseconds to wait before attempt number `attempt` (from 0): full jitter under a ceiling that
 * doubles from 0.5 s to 20 s, so that the crowd of a restarted relay spreads out. The relay's own
 * `retryAfter`, in seconds, is a floor.
 */
export function reconnectDelay(attempt, retryAfter = 0, random = Math.random) {
  const ceiling = Math.min(20_000, 500 * 2 ** Math.min(attempt, 10))
  return retryAfter * 1000 + random() * ceiling
}
