// SPDX-License-Identifier: Apache-2.0
import { reconnectDelay } from '../client/reconnect.js'

/**
 * What the simulated gateway delivers to one device: what it holds already, and then live.
 *
 * Over HTTP/1.1 a browser opens six connections to a host, for all its tabs together, and a stream takes
 * one of them for as long as it stands. So it stands only while it is wanted and the page is shown.
 */
export class PushFeed {
  #url
  #arrived
  #isWanted = false
  #events = null
  #comeBack = 0
  #attempt = 0

  /** `arrived` is called with a push ({`payload`, `headers`, `time`}) and whether it came live. */
  constructor(token, arrived) {
    this.#url = new URL(`v1/simulator/devices/${encodeURIComponent(token)}`, document.baseURI)
    this.#arrived = arrived
    addEventListener('pagehide', () => this.#close())
    addEventListener('pageshow', () => this.follow(this.#isWanted))
    document.addEventListener('visibilitychange', () => this.follow(this.#isWanted))
  }

  /** Begins or ends the feed; what came in between is delivered at the next begin. */
  follow(isWanted) {
    this.#isWanted = isWanted
    if (!isWanted || document.hidden) this.#close()
    else if (!this.#events) this.#open()
  }

  #open() {
    clearTimeout(this.#comeBack)
    const events = new EventSource(`${this.#url}/events`)
    this.#events = events
    // Asked only once the stream stands, so that nothing falls between the two.
    events.onopen = () => {
      this.#attempt = 0
      this.#catchUp().catch(() => {})
    }
    for (const name of ['notification', 'badge']) {
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
