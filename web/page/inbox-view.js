// SPDX-License-Identifier: Apache-2.0
// Draws the list of rooms of a person. room-list.js has its state.
import { timeOfDay } from './clock.js'
import { arrange, avatar, element, setText } from './dom.js'

const groupTitle = 'Picnic'

/** The title of a room in the list. The room of all people of this place has none until somebody gives it one. */
export function roomTitle({ room, kind, title, members } = {}, person) {
  if (kind === 'direct' && members?.other) return members.other.name ?? person.nameOf(members.other.user)
  return title || (room === person.home ? 'Everyone' : `Group of ${members?.count ?? 2}`)
}

/** The title of an open room. The only room needs none: its people are enough. */
export function openTitle(room, person) {
  const entry = person.rooms.find((other) => other.room === room)
  const isNamed = entry && (entry.title || room !== person.home || person.rooms.length > 1)
  return isNamed ? roomTitle(entry, person) : person.others.map(({ user }) => person.nameOf(user)).join(', ')
}

/** A number with its noun, such as “2 invitations”. Is empty for 0. */
export function countOf(number, noun) {
  return number ? `${number} ${noun}${number === 1 ? '' : 's'}` : ''
}

/** The list of invitations and rooms in the app, and the buttons that open new rooms. */
export class InboxView {
  #person
  #parts
  #rows = new Map()
  #buttons = new Map()
  #invitations = null
  #open

  /** Calls `open` after the person has selected a room. */
  constructor(person, parts, open) {
    this.#person = person
    this.#parts = parts
    this.#open = open
    parts('rows').setAttribute('aria-label', `Rooms of ${person.name}, newest first`)
  }

  render() {
    const { rooms, invitations } = this.#person
    setText(this.#parts('invitations-title'), countOf(invitations.length, 'invitation'))
    this.#invitations?.render()
    if (invitations.length && !this.#invitations) this.#loadInvitations().catch(() => {})
    this.#parts('rows-empty').hidden = rooms.length > 0
    const rows = rooms.map((entry) => this.#row(entry))
    for (const room of this.#rows.keys()) if (!rooms.some((entry) => entry.room === room)) this.#rows.delete(room)
    arrange(this.#parts('rows'), rows)
    arrange(this.#parts('new-rooms'), this.#newRooms())
  }

  /** Moves the keyboard focus to the newest room. Without a room, to the first button below the list. */
  focus() {
    const [button] = ['rows', 'new-rooms'].flatMap((part) => this.#parts(part).querySelector('button') ?? [])
    button?.focus({ preventScroll: true })
  }

  // Most people have no invitation, so its module is loaded with the first one.
  async #loadInvitations() {
    const { InvitationView } = await import('./invitation-view.js')
    const options = { opened: () => this.#open(), ended: () => this.focus() }
    this.#invitations ??= new InvitationView(this.#person, this.#parts('invitations'), options)
    this.#invitations.render()
  }

  #row(entry) {
    const { room, lastMessage, unread, mentions, muted } = entry
    if (!this.#rows.has(room)) this.#rows.set(room, this.#make(room))
    const row = this.#rows.get(room)
    const part = (name) => row.querySelector(`.row-${name}`)
    const title = roomTitle(entry, this.#person)
    if (row.dataset.title !== title) part('face').replaceChildren(avatar(title))
    row.dataset.title = title
    row.classList.toggle('is-unread', unread > 0)
    setText(part('title'), title)
    setText(part('time'), lastMessage ? timeOfDay(lastMessage.time) : '')
    setText(part('preview'), this.#preview(lastMessage) + (muted ? ' · muted' : ''))
    part('mention').hidden = mentions === 0
    part('unread').hidden = unread === 0
    setText(part('unread').firstElementChild, String(unread))
    setText(part('unread').lastElementChild, ' unread')
    return row
  }

  #make(room) {
    const part = (name, ...children) => {
      const key = `row-${name}`
      return element('span', { class: key, 'data-testid': key }, ...children)
    }
    const hidden = (text) => element('span', { class: 'visually-hidden' }, text)
    const line = element(
      'span',
      { class: 'row-text' },
      part('title'),
      element('span', { class: 'row-preview', dir: 'auto' })
    )
    const mention = part('mention', element('span', { 'aria-hidden': 'true' }, '@'), hidden('mentions you, '))
    const side = element(
      'span',
      { class: 'row-side' },
      part('time'),
      element('span', { class: 'row-badges' }, mention, part('unread', element('span'), hidden(' unread')))
    )
    const button = element('button', { type: 'button', 'data-testid': 'row' }, part('face'), line, side)
    button.addEventListener('click', () => {
      this.#person.open(room)
      this.#open()
    })
    return element('li', {}, button)
  }

  #preview(message) {
    if (!message) return 'No messages yet'
    if (message.deleted) return 'Message deleted'
    const { user } = this.#person
    return `${message.from === user ? 'You' : this.#person.nameOf(message.from)}: ${message.preview ?? 'Message'}`
  }

  // Offers a direct room with each person who has none, and one group.
  #newRooms() {
    const { rooms, people, home } = this.#person
    const direct = new Set(rooms.map(({ members }) => members.other?.user))
    const wishes = people
      .filter((user) => !direct.has(user))
      .map((user) => [`Message ${this.#person.nameOf(user)}`, () => this.#person.openDirect(user)])
    if (people.length && !rooms.some(({ kind, room }) => kind === 'group' && room !== home)) {
      wishes.push(['New group', () => this.#person.createGroup(groupTitle)])
    }
    return wishes.map(([text, act]) => {
      if (!this.#buttons.has(text)) this.#buttons.set(text, this.#button(text, act))
      return this.#buttons.get(text)
    })
  }

  #button(text, act) {
    const testid = text.toLowerCase().replace(' ', '-')
    const button = element('button', { type: 'button', class: 'plain-button', 'data-testid': testid }, text)
    button.addEventListener('click', async () => {
      await act()
      this.#open()
    })
    return button
  }
}
