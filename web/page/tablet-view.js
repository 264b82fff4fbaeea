// SPDX-License-Identifier: Apache-2.0
import { CallScreen } from './call-screen.js'
import { setText } from './dom.js'

const requests = { accept: 'answer', decline: 'decline', 'hang-up': 'hangup' }

/** The tablet under a phone: it shows only calls. */
export class TabletView {
  #person
  #tablet
  #parts
  #screen

  constructor(person, parts, render) {
    const { tablet, name } = person
    const root = parts('tablet')
    this.#person = person
    this.#tablet = tablet
    this.#parts = (part) => root.querySelector(`[data-part="tablet-${part}"]`)
    root.hidden = false
    root.setAttribute('aria-label', `${name}’s tablet`)
    setText(this.#parts('name'), `${name}’s tablet`)
    this.#parts('read').addEventListener('click', () => tablet.readAll().catch((error) => this.#complain(error)))
    const names = { nameOf: (user) => person.nameOf(user), titleOf: () => '' }
    this.#screen = new CallScreen(tablet, names, this.#parts, root, (choice) => {
      if (choice === 'done') tablet.calls.dismiss()
      else tablet.calls.act(requests[choice])
    })
    tablet.addEventListener('change', render)
  }

  render() {
    const { call } = this.#tablet.calls
    this.#parts('idle').hidden = call.phase !== 'none'
    setText(this.#parts('state-idle'), this.#tablet.isAwake ? 'Awake' : 'Asleep: a call wakes it')
    this.#parts('on-call').hidden = call.phase === 'none'
    this.#screen.render()
  }

  #complain({ message }) {
    const detail = `The tablet did not read the messages: ${message}`
    this.#person.dispatchEvent(new CustomEvent('complaint', { detail }))
  }
}
