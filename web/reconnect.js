// SPDX-License-Identifier: Apache-2.0

/** Why the relay closed, for the codes after which nobody should come back by themselves. */
const refusals = {
  4500: 'the relay did not understand a request',
  4501: 'the relay asks for a token',
  4502: 'the first request came too late',
  4503: 'this relay does not run in open mode',
  4504: 'this person has too many sessions',
  4505: 'a message was over the size limit',
  4506: 'an operator closed the connection',
}

/** Whether a close code allows to come back without anything having changed. */
export function comesBack(code) {
  return code < 4500 || code > 4999
}

/** A sentence part that says why `code` is final; `reason` is the relay's own text, if any. */
export function refusal(code, reason) {
  return refusals[code] ?? (reason || `the relay closed with code ${code}`)
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
