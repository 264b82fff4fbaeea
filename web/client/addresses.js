// SPDX-License-Identifier: Apache-2.0
// The addresses of a relay, and the order in which a client tries them. No dependencies.

/** The time in milliseconds for which a silent address is left out while the other nodes know no leader. */
const rest = 10_000

/**
 * The addresses that the app configures: one relay, or all nodes of a cluster.
 *
 * A node that is not the leader names the leader. The client uses this name only to choose among the configured
 * addresses: otherwise an answer could send the client, and its token, to any host.
 */
export class Addresses {
  #urls
  #elapsed
  #first = 0
  /** The node that answered last as the leader. */
  #leader
  /** The node that another node has named since. */
  #named
  /** The times at which addresses were silent. */
  #silentAt = new Map()

  /**
   * `urls` is a URL or a list of URLs. Throws a `TypeError` if one is not valid, or if the list is empty. `elapsed` is
   * a clock without steps, in milliseconds.
   */
  constructor(urls, elapsed = () => performance.now()) {
    this.#elapsed = elapsed
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
    let hasLeader = true
    let at = this.#first
    const isLeftOut = (index) => !hasLeader && this.#elapsed() - this.#silentAt.get(index) < rest
    return {
      /** The address of the current attempt. */
      get url() {
        return urls[at]
      },
      /**
       * Ends the current attempt. `isStandby` is true if the node has answered that it does not lead, and `leader` is
       * the leader that it named. Selects this leader, or else the next address of the list. Returns false if all
       * addresses were tried. The next round begins with the leader.
       */
      next: (leader, isStandby = false) => {
        tried.add(at)
        if (isStandby || leader) {
          hasLeader = Boolean(leader)
          this.#silentAt.delete(at)
        }
        const named = urls.findIndex((url) => leader && node(url) === node(leader))
        if (named >= 0) this.#first = this.#named = named
        const others = urls.map((_, index) => (at + index) % urls.length).filter((index) => !isLeftOut(index))
        const next = [named, ...others].find((index) => index >= 0 && !tried.has(index))
        if (next === undefined) return false
        at = next
        return true
      },
      /**
       * Stores that this node answered as the leader. The next round begins with it. Returns true if the leader is
       * another node than before, or if another node has named it.
       */
      succeeded: () => {
        const isNews = urls.length > 1 && (at === this.#named || at !== this.#leader)
        this.#first = this.#leader = at
        this.#named = undefined
        this.#silentAt.delete(at)
        return isNews
      },
      /** Stores that this node does not answer. The next round begins with the address after it. */
      avoid: () => {
        this.#silentAt.set(at, this.#elapsed())
        if (this.#first === at) this.#first = (at + 1) % urls.length
      },
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
