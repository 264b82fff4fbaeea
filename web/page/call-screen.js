// SPDX-License-Identifier: Apache-2.0
import { avatar, setText } from './dom.js'

/** The screen of a phone while a call rings. It covers the other screens. */
export class CallScreen {
  #person
  #parts
  #id = null
  #end = 0

  /** Calls `open` when the person accepts the call, and `decline` when the person declines it. */
  constructor(person, parts, open, decline) {
    this.#person = person
    this.#parts = parts
    parts('accept').addEventListener('click', () => {
      person.respond(person.phone.call, 'demo.call.accept')
      open()
    })
    parts('decline').addEventListener('click', () => {
      person.respond(person.phone.call, 'demo.call.decline')
      decline()
    })
  }

  render(now) {
    const { call } = this.#person.phone
    this.#parts('call').inert = call === null
    if ((call?.id ?? null) === this.#id) return
    this.#id = call?.id ?? null
    clearTimeout(this.#end)
    if (!call) return
    this.#parts('caller').replaceChildren(avatar(call.from))
    setText(this.#parts('caller-name'), call.from)
    setText(this.#parts('call-why'), call.why || 'Stillwire call')
    this.#end = setTimeout(() => this.#person.stopRinging(), call.until - now)
  }
}
