// SPDX-License-Identifier: Apache-2.0

/** A failed call. `status` is 0 if no server answered. A call with `isTemporary` may be retried. */
export class CallError extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? (status ? `status ${status}` : 'the relay does not answer'))
    this.status = status
    this.isTemporary = status === 0 || status === 429 || status >= 500
    /** The delay before a retry, in seconds. */
    this.retryAfter = problem?.retryAfter ?? 2
  }
}

/**
 * Calls the HTTP API, in open mode as `user`, or with the report key of a device as `key`. Resolves with the reply.
 * Rejects with a `CallError` that has the relay's reason. Passes the request and the answer to `log`. With `keepalive`
 * the request continues after the page is closed.
 */
export async function call(method, path, { user, key, headers, body, keepalive, log = () => {} } = {}) {
  const text = body && JSON.stringify(body)
  log(`${method} /${path}`, text ?? '')
  const caller = key ? { Authorization: `Bearer ${key}` } : user && { 'X-Stillwire-User': user }
  const sent = { ...headers, ...(text && { 'Content-Type': 'application/json' }), ...caller }
  const request = fetch(new URL(path, document.baseURI), { method, headers: sent, body: text, keepalive })
  const response = await request.catch(() => Promise.reject(new CallError(0)))
  const reply = await response.text()
  log(String(response.status), reply)
  const value = parsed(reply)
  if (!response.ok) throw new CallError(response.status, value)
  return value
}

/** Encodes a part of a path, such as the name of a user. */
export const segment = encodeURIComponent

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
