// SPDX-License-Identifier: Apache-2.0
// Finds the reason of a failed handshake. No dependencies.

/** Timeout of the answer over HTTP, in milliseconds. */
const limit = 5_000
/** Codes of lasting refusals: the configuration or the app must change. */
const finalCodes = new Set(['forbidden', 'not_found', 'bad_request'])

/**
 * Finds out over HTTP why a WebSocket handshake failed, because browsers give a page no reason.
 *
 * Resolves with {`code`, `message`, `isFinal`, `isStandby`, `leader`}, or with null if it finds no reason. The code and
 * the message are the relay's, or the code is `handshake`. Only the relay's own refusal is final: an answer of a proxy
 * may change later. `isStandby` is true if the node does not lead, and `leader` is then the URL of the leader, if the
 * node knows it.
 *
 * The relay refuses an Origin with an answer that any page may read. A GET to the page's own origin carries no Origin
 * header. So if a proxy changes Host, the relay refuses the handshake but not this GET. The cause cannot be seen, and
 * the message names it only as a possibility.
 */
export async function handshakeRefusal(url, { fetch, origin }) {
  const http = url.replace(/^ws/, 'http')
  const options = { cache: 'no-store', credentials: 'omit', redirect: 'manual' }
  const ask = (more) => fetch(http, { ...options, ...more, signal: AbortSignal.timeout(limit) })
  try {
    return await refusalIn(await ask(), origin)
  } catch {
    if (!origin) return null
  }
  try {
    // The browser hides an answer that the page may not read. But the answer proves that a server exists.
    await ask({ mode: 'no-cors', redirect: 'follow' })
    return refused(`a server answers, but not to pages of ${origin}: does the relay's setting origins list it?`)
  } catch {
    return isLocal(http) && !isLocal(origin) ? refused(localAddress(http, origin)) : null
  }
}

/** The names and addresses of this machine and of local networks: RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6762. */
const local = new RegExp(
  '^(localhost|.*\\.local(host)?|(127|10|192\\.168|172\\.(1[6-9]|2\\d|3[01])|169\\.254)\\.[\\d.]+' +
    '|\\[(::1|f[cd]..:.*|fe[89ab].:.*)\\])$'
)

/** True if the URL names a local address. A name of DNS may lead to one, which a page cannot see. */
function isLocal(url) {
  try {
    return local.test(new URL(url).hostname)
  } catch {
    return false // the origin of a page from a file is null
  }
}

function localAddress(url, origin) {
  return (
    `no answer from ${new URL(url).host}: the browser may refuse connections of ${origin} to local addresses until the ` +
    'visitor permits local network access'
  )
}

async function refusalIn(response, origin) {
  if (response.type === 'opaqueredirect') return refused('the answer was a redirect, which a WebSocket does not follow')
  // The relay answers 426 to a request without an upgrade.
  if (response.status === 426) {
    return refused(
      'the relay answers HTTP but no WebSocket: does a proxy in between drop the header Upgrade, ' +
        "or change Host although the relay's setting origins does not list the page?"
    )
  }
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json')
  const problem = isProblem ? await response.json().catch(() => null) : null
  if (typeof problem?.code !== 'string') return refused(`the answer was HTTP status ${response.status}`)
  const page = problem.code === 'forbidden' && origin ? ` (the page is from ${origin})` : ''
  const { code, detail } = problem
  const isFinal = finalCodes.has(code)
  const answer = { isStandby: isStandby(response, problem), leader: leaderIn(response, problem) }
  return { code, message: `${detail}${page}`, isFinal, ...answer }
}

/** Returns true if this answer of the relay says that the node does not lead. */
export function isStandby(response, problem) {
  return response.status === 503 && problem?.code === 'unavailable'
}

/**
 * Returns the URL of the leader that a standby node names, or undefined. Any server can send any URL: compare it with
 * the configured addresses, and never connect to it.
 */
export function leaderIn(response, problem) {
  const leader = problem?.leader ?? response.headers.get('stillwire-leader')
  return typeof leader === 'string' ? leader : undefined
}

function refused(message) {
  return { code: 'handshake', message, isFinal: false }
}
