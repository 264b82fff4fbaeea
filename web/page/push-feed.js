// SPDX-License-Identifier: Apache-2.0
import { reconnectDelay } from '../client/reconnect.js'

/** The time in milliseconds for which live pushes wait for the list. */
const patience = 5_000

const id = ({ headers }) => headers['apns-id']

/**
 * The pushes that the simulated gateway delivers to one device: first the stored ones, then live ones.
 *
 * Over HTTP/1.1 a browser opens at most six connections to a host, for all its tabs together, and a stream occupies one
 * of them. So the stream is open only while it is needed and the page is visible.
 */
export class PushFeed {
  #url
  #arrived
  #listed
  #isWanted = false
  #events = null
  #comeBack = 0
  #attempt = 0
  /** The live pushes that wait for the list of the stored ones, or null. */
  #waiting = null

  /**
   * Calls `arrived` with each live push: {`payload`, `headers`, `time`}. Calls `listed` after each start with all that
   * the gateway has stored: {`notifications`, `badge`}, with such pushes, oldest first.
   */
  constructor(token, arrived, listed) {
    this.#url = new URL(`v1/simulator/devices/${encodeURIComponent(token)}`, document.baseURI)
    this.#arrived = arrived
    this.#listed = listed
    addEventListener('pagehide', () => this.#close())
    addEventListener('pageshow', () => this.follow(this.#isWanted))
    document.addEventListener('visibilitychange', () => this.follow(this.#isWanted))
  }

  /** Starts or stops the feed. The list of the next start has the changes of the time between. */
  follow(isWanted) {
    this.#isWanted = isWanted
    if (!isWanted || document.hidden) this.#close()
    else if (!this.#events) this.#open()
  }

  #open() {
    clearTimeout(this.#comeBack)
    const events = new EventSource(`${this.#url}/events`)
    this.#events = events
    // The stored pushes are requested after the stream is open, so that no push is missed between the two.
    events.onopen = () => {
      this.#attempt = 0
      this.#catchUp()
    }
    for (const name of ['notification', 'badge', 'removed']) {
      events.addEventListener(name, ({ data }) => this.#take(JSON.parse(data)))
    }
    events.onerror = () => {
      if (events.readyState !== EventSource.CLOSED) return
      this.#comeBack = setTimeout(() => this.#open(), reconnectDelay(this.#attempt++, 0.5))
    }
  }

  // A live push waits for the list, because an older list would undo it.
  async #catchUp() {
    const waiting = (this.#waiting = [])
    const list = await this.#list().catch(() => null)
    if (this.#waiting !== waiting) return
    this.#waiting = null
    if (list) this.#listed(list)
    const known = new Set(list?.notifications.map(id))
    for (const push of waiting) if (!known.has(id(push))) this.#arrived(push)
  }

  async #list() {
    const response = await fetch(this.#url, { signal: AbortSignal.timeout(patience) })
    return response.ok ? response.json() : null
  }

  #take(push) {
    if (this.#waiting) this.#waiting.push(push)
    else this.#arrived(push)
  }

  #close() {
    clearTimeout(this.#comeBack)
    this.#waiting = null
    this.#events?.close()
    this.#events = null
  }
}
