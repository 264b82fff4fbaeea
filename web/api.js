// SPDX-License-Identifier: Apache-2.0

/**
 * A call of the HTTP API, in open mode as `user`. Resolves with the reply; throws an `Error` with the relay's reason.
 * `log` hears what was said and answered.
 */
export async function call(method, path, { user, body, log = () => {} } = {}) {
  const text = body && JSON.stringify(body)
  log(`${method} /${path}`, text ?? '')
  const response = await fetch(new URL(path, document.baseURI), {
    method,
    headers: { ...(text && { 'Content-Type': 'application/json' }), ...(user && { 'X-Stillwire-User': user }) },
    body: text,
  })
  const reply = await response.text()
  log(String(response.status), reply)
  const value = parsed(reply)
  if (!response.ok) throw new Error(value?.detail ?? value?.title ?? `status ${response.status}`)
  return value
}

/** A part of a path, such as a name of a user. */
export const segment = encodeURIComponent

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
