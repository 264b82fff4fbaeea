// SPDX-License-Identifier: Apache-2.0

/** Milliseconds that the relay has for its answer over HTTP. */
const limit = 5_000
/** The relay's codes of refusals that only a change of the configuration or of the app ends. */
const finalCodes = new Set(['forbidden', 'not_found', 'bad_request'])

/**
 * Finds out over HTTP why a WebSocket handshake failed, because browsers give a page no reason.
 *
 * Resolves with {`code`, `message`, `isFinal`} in the words of the relay, or with null where nothing is known. Only the
 * relay's own refusal is final: an answer of a proxy may change by itself.
 */
export async function handshakeRefusal(url, { fetch, origin }) {
  const http = url.replace(/^ws/, 'http')
  const options = { cache: 'no-store', credentials: 'omit', redirect: 'manual' }
  const ask = (more) => fetch(http, { ...options, ...more, signal: AbortSignal.timeout(limit) })
  try {
    return await refusalIn(await ask())
  } catch {
    if (!origin) return null
  }
  try {
    // The browser hides an answer that its page may not read. That there is one says enough.
    await ask({ mode: 'no-cors', redirect: 'follow' })
    return refused(`a server answers, but not to pages of ${origin}: does the relay's setting origins list it?`)
  } catch {
    return null
  }
}

async function refusalIn(response) {
  // The relay's answer to a request that upgrades nothing.
  if (response.status === 426) return refused('the relay answers HTTP: does a proxy in between drop the header Upgrade?')
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json')
  const problem = isProblem ? await response.json().catch(() => null) : null
  if (typeof problem?.code !== 'string') return refused(`the answer was HTTP status ${response.status}`)
  return { code: problem.code, message: String(problem.detail), isFinal: finalCodes.has(problem.code) }
}

function refused(message) {
  return { code: 'handshake', message, isFinal: false }
}
