// SPDX-License-Identifier: Apache-2.0
// Draws the open invitations of a person. invitations.js has their state.
import { arrange, avatar, element, setText } from './dom.js'
import { invitationText, inviterOf } from './invitations.js'

/** The invitations on top of the list of rooms. */
export class InvitationView {
  #person
  #part
  #options
  #rows = new Map()

  /**
   * `part` is the list. `opened()` is called after the person has accepted an invitation, and `ended()` after a control
   * with the keyboard focus has disappeared.
   */
  constructor(person, part, options) {
    this.#person = person
    this.#part = part
    this.#options = options
    part.setAttribute('aria-label', `Invitations of ${person.name}, newest first`)
  }

  render() {
    const { invitations } = this.#person
    const rooms = new Set(invitations.map(({ room }) => room))
    for (const room of this.#rows.keys()) if (!rooms.has(room)) this.#rows.delete(room)
    arrange(this.#part, invitations.map((invitation) => this.#row(invitation)))
  }

  #row(invitation) {
    const { room } = invitation
    if (!this.#rows.has(room)) this.#rows.set(room, this.#make(room))
    const row = this.#rows.get(room)
    const name = inviterOf(invitation)
    const part = (part) => row.querySelector(`.invitation-${part}`)
    if (row.dataset.name !== name) part('face').replaceChildren(avatar(name))
    row.dataset.name = name
    row.dataset.user = invitation.by.user
    setText(part('name'), name)
    setText(part('text'), invitationText(invitation))
    // Several invitations have the same buttons, so a screen reader reads more than the visible words.
    const place = invitation.kind === 'direct' ? '' : ` to ${invitation.title || 'a group'}`
    setText(part('accept'), ` the invitation of ${name}${place}`)
    setText(part('decline'), ` the invitation of ${name}${place}`)
    setText(part('block'), ` ${name}`)
    return row
  }

  #make(room) {
    const person = this.#person
    const part = (name) => element('span', { class: `invitation-${name}`, 'data-testid': `invitation-${name}`, dir: 'auto' })
    const button = (text, key, act) => {
      const rest = element('span', { class: `visually-hidden invitation-${key}` })
      const style = key === 'accept' ? 'push-button' : 'plain-button'
      const attributes = { type: 'button', class: style, 'data-testid': `invitation-${key}-button` }
      const node = element('button', attributes, text, rest)
      node.addEventListener('click', act)
      return node
    }
    const row = element(
      'li',
      { 'data-testid': 'invitation' },
      element('span', { class: 'invitation-face' }),
      element('p', {}, part('name'), ' ', part('text')),
      element(
        'div',
        { class: 'invitation-buttons' },
        button('Accept', 'accept', async () => (await person.acceptInvitation(room)) && this.#options.opened()),
        button('Decline', 'decline', () => this.#end(person.declineInvitation(room))),
        button('Block', 'block', () => this.#end(person.block(row.dataset.user)))
      )
    )
    return row
  }

  async #end(act) {
    await act
    this.render()
    if (!document.activeElement || document.activeElement === document.body) this.#options.ended()
  }
}
