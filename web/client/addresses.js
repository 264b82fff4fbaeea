// SPDX-License-Identifier: Apache-2.0
// The addresses of a relay, and the order in which a client tries them. No dependencies.

/**
 * The addresses that the app configures: one relay, or all nodes of a cluster.
 *
 * A node that is not the leader names the leader. The client uses this name only to choose among the configured
 * addresses: otherwise an answer could send the client, and its token, to any host.
 */
export class Addresses {
  #urls
  #first = 0

  /** `urls` is a URL or a list of URLs. Throws a `TypeError` if one is not valid, or if the list is empty. */
  constructor(urls) {
    this.#urls = [...new Set([urls].flat().map((url) => String(new URL(url))))]
    if (this.#urls.length === 0) throw new TypeError('the list of addresses is empty')
  }

  get areSeveral() {
    return this.#urls.length > 1
  }

  /** Begins a round. A round tries each address at most once, so nodes that name each other cause no loop. */
  round() {
    const urls = this.#urls
    const tried = new Set()
    let at = this.#first
    return {
      /** The address of the current attempt. */
      get url() {
        return urls[at]
      },
      /**
       * Ends the current attempt. Selects the leader that the node named, or else the next address of the list.
       * Returns false if all addresses were tried. The next round begins with the leader.
       */
      next: (leader) => {
        tried.add(at)
        const named = urls.findIndex((url) => leader && node(url) === node(leader))
        if (named >= 0) this.#first = named
        const others = urls.map((_, index) => (at + index) % urls.length)
        const next = [named, ...others].find((index) => index >= 0 && !tried.has(index))
        if (next === undefined) return false
        at = next
        return true
      },
      /** Stores that this node answered as the leader. The next round begins with it. */
      succeeded: () => void (this.#first = at),
      /** Stores that the leader no longer answers. The next round begins with the address after it. */
      avoid: () => void (this.#first = (at + 1) % urls.length),
    }
  }
}

/** Returns the parts of a URL that identify a node: `wss://a/v1/connect` and `https://a/` are the same node. */
function node(url) {
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol.replace(/^ws/, 'http')}//${host}${pathname.replace(/\/*(\/v1\/connect)?\/*$/, '')}`
  } catch {
    return undefined
  }
}
