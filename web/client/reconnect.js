// SPDX-License-Identifier: Apache-2.0
// The rules for reconnecting: close codes, the reason of a refusal, and the backoff.

/** The close code with which a proxy that reloads closes all its connections. */
const goingAway = 1001
/** The close code with which a relay ends a session because it shuts down, or because another node leads. */
const shutdown = 4000

/** Returns true if the client reconnects by itself after this close code. */
export function comesBack(code) {
  return code < 4500 || code > 4999
}

/**
 * Returns true if another node may accept a client whose attempt ended with this close code: the connection was lost,
 * or the relay shuts down. After the other codes of the relay, each node would refuse the client.
 */
export function mayTryNext(code) {
  return code <= 4000
}

/**
 * Returns the reason of a refusal, as the relay states it: the `error` frame that answered `hello`
 * (`unauthorized: the token has expired`), or else the reason of the close frame.
 */
export function refusal(code, reason, error) {
  if (error?.code) return error.message ? `${error.code}: ${error.message}` : error.code
  return reason || `the relay closed with code ${code}`
}

/**
 * Returns the seconds within which the clients of a relay should reconnect after this end of a connection, or 0. `bye`
 * states them. If it has a `retryAfter`, the relay has chosen the time of this client within them.
 */
export function jitterAfter(code, bye) {
  if (!bye) return code === goingAway ? 1 : 0
  const { retryAfter, jitter } = bye
  return retryAfter === undefined && Number.isFinite(jitter) ? Math.max(0, jitter) : 0
}

/** Returns true if a session with this `bye` has ended in order, and another relay or node accepts the client soon. */
export function isHandover(bye) {
  return bye?.code === shutdown
}

/**
 * Returns the delay in milliseconds after a session that has ended in order: a time within the jitter of the relay. Is
 * undefined if `bye` states none.
 */
export function handoverDelay(bye, random) {
  if (Number.isFinite(bye.retryAfter)) return 1000 * Math.max(0, bye.retryAfter)
  const jitter = jitterAfter(shutdown, bye)
  return jitter > 0 ? 1000 * jitter * random() : undefined
}

/**
 * Returns the backoff in milliseconds before attempt number `attempt` (from 0): full jitter below a ceiling that
 * doubles from 0.5 s to 20 s, and is at least `jitter` seconds. The jitter spreads the clients that reconnect after a
 * restart of the relay. `retryAfter` is the relay's minimum delay in seconds, to which the jitter is added.
 */
export function reconnectDelay(attempt, retryAfter = 0, random = Math.random, jitter = 0) {
  const ceiling = Math.max(1000 * jitter, Math.min(20_000, 500 * 2 ** Math.min(attempt, 10)))
  return retryAfter * 1000 + random() * ceiling
}
