// SPDX-License-Identifier: Apache-2.0
import { callText } from './call-state.js'
import { avatar, setText } from './dom.js'

/** The controls of each phase. The first one receives the keyboard focus. */
const controls = { calling: ['hang-up'], ringing: ['accept', 'decline'], talking: ['hang-up'], over: ['done'] }

/** A call on the screen of a device. It covers the other screens. The phone and the tablet have one. */
export class CallScreen {
  #parts
  #root
  #me
  #nameOf
  #titleOf
  #calls
  #phase = 'none'

  /**
   * `device` is {`calls`, `me`} of a person or a tablet, and `parts` finds its elements. `nameOf` returns the name of a
   * user, and `titleOf` the title of a room. Calls `act` with `accept`, `decline`, `hang-up` or `done`.
   */
  constructor({ calls, me }, { nameOf, titleOf }, parts, root, act) {
    this.#calls = calls
    this.#me = me
    this.#nameOf = nameOf
    this.#titleOf = titleOf
    this.#parts = parts
    this.#root = root
    for (const name of ['accept', 'decline', 'hang-up', 'done']) {
      parts(name).addEventListener('click', () => act(name))
    }
  }

  render() {
    const { call } = this.#calls
    const { phase, from, by, room } = call
    const shown = controls[phase] ?? []
    // A hidden control loses the keyboard focus.
    const hasFocus = this.#root.contains(document.activeElement)
    for (const name of ['accept', 'decline', 'hang-up', 'done']) this.#parts(name).hidden = !shown.includes(name)
    if (phase !== 'none') {
      // The caller sees the room, and then the person who has answered or declined.
      const other = from !== this.#me.user ? from : by !== this.#me.user ? by : undefined
      const name = other ? this.#nameOf(other) : this.#titleOf(room)
      if (this.#parts('caller-name').textContent !== name) this.#parts('caller').replaceChildren(avatar(name))
      setText(this.#parts('caller-name'), name)
    }
    setText(this.#parts('call-state'), callText(call, this.#me, this.#nameOf))
    if (phase === this.#phase) return
    this.#phase = phase
    this.#root.dataset.phase = phase
    if (shown.length && hasFocus) this.#parts(shown[0]).focus({ preventScroll: true })
  }
}
