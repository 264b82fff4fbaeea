// SPDX-License-Identifier: Apache-2.0

let lastNumber = 0

/**
 * Reports a Focus as a phone's intent handler does on `INShareFocusStatusIntent`: one short call over
 * HTTP, with no socket. `log` hears what was said. Throws an `Error` with the relay's reason.
 */
export async function reportFocus({ user, device, isFocused }, log) {
  // The relay ignores a report whose number is not above the last one. The clock keeps the number
  // rising over reloads and over several tabs of one person.
  lastNumber = Math.max(lastNumber + 1, Date.now())
  const path = `v1/users/${encodeURIComponent(user)}/focus`
  const body = JSON.stringify({ isFocused, device, source: 'intent', number: lastNumber })
  log(`PUT /${path}`, body)
  const response = await fetch(new URL(path, document.baseURI), {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'X-Stillwire-User': user },
    body,
  })
  const text = await response.text()
  log(String(response.status), text)
  if (!response.ok) throw new Error(reason(text) ?? `status ${response.status}`)
}

function reason(text) {
  try {
    const problem = JSON.parse(text)
    return problem.detail ?? problem.title ?? problem.code
  } catch {
    return undefined
  }
}
