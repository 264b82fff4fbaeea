// SPDX-License-Identifier: Apache-2.0
import { reconnectDelay } from '../client/reconnect.js'

/**
 * The pushes that the simulated gateway delivers to one device: first the stored ones, then live ones.
 *
 * Over HTTP/1.1 a browser opens at most six connections to a host, for all its tabs together, and a stream occupies one
 * of them. So the stream is open only while it is needed and the page is visible.
 */
export class PushFeed {
  #url
  #arrived
  #isWanted = false
  #events = null
  #comeBack = 0
  #attempt = 0

  /** Calls `arrived` with a push ({`payload`, `headers`, `time`}), and with true if it is live. */
  constructor(token, arrived) {
    this.#url = new URL(`v1/simulator/devices/${encodeURIComponent(token)}`, document.baseURI)
    this.#arrived = arrived
    addEventListener('pagehide', () => this.#close())
    addEventListener('pageshow', () => this.follow(this.#isWanted))
    document.addEventListener('visibilitychange', () => this.follow(this.#isWanted))
  }

  /** Starts or stops the feed. The next start delivers the pushes of the time between. */
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
      this.#catchUp().catch(() => {})
    }
    for (const name of ['notification', 'badge', 'removed']) {
      events.addEventListener(name, ({ data }) => this.#arrived(JSON.parse(data), true))
    }
    events.onerror = () => {
      if (events.readyState !== EventSource.CLOSED) return
      this.#comeBack = setTimeout(() => this.#open(), reconnectDelay(this.#attempt++, 0.5))
    }
  }

  async #catchUp() {
    const response = await fetch(this.#url)
    if (!response.ok) return
    const { notifications } = await response.json()
    for (const push of notifications) this.#arrived(push, false)
  }

  #close() {
    clearTimeout(this.#comeBack)
    this.#events?.close()
    this.#events = null
  }
}
