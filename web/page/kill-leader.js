// SPDX-License-Identifier: Apache-2.0
// The leader of a cluster that `make run-cluster` runs, and a button that kills it. api.js sends the requests.
import { call } from './api.js'
import { setText } from './dom.js'

/** The delay between two requests for the leader, in milliseconds. */
const pause = 500
const path = 'demo/leader'

/** `<kill-leader>`: shows the node that leads. The button ends the process of this node with SIGKILL. */
export class KillLeader extends HTMLElement {
  connectedCallback() {
    this.hidden = false
    this.#kill.addEventListener('click', () => this.#press())
    this.#follow()
  }

  get #kill() {
    return this.querySelector('[data-part="kill"]')
  }

  async #follow() {
    while (this.isConnected) {
      // Without an answer no node leads, or the cluster has ended.
      const reply = await call('GET', path).catch(() => null)
      this.#show(reply?.leader)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }

  #show(leader) {
    setText(this.querySelector('[data-part="leader-name"]'), leader ? `Node ${leader} leads` : 'No node leads')
    this.#kill.disabled = !leader
  }

  async #press() {
    this.#show(null)
    await call('DELETE', path, { headers: { 'X-Stillwire-Demo': '1' } }).catch(() => null)
  }
}

customElements.define('kill-leader', KillLeader)
