// SPDX-License-Identifier: Apache-2.0
import { age, calendarDate, clockFace } from './clock.js'
import { arrange, avatar, element, icon, setText } from './dom.js'
import { stacks } from './phone.js'

/** The phone while nobody looks at the app: clock, Focus, and notifications in one stack per thread. */
export class LockScreen {
  #person
  #parts
  #open
  #cards = new Map()
  #unfolded = new Set()
  #render

  /** `open` is called when the person picks up the phone. */
  constructor(person, parts, open, render) {
    this.#person = person
    this.#parts = parts
    this.#open = open
    this.#render = render
    parts('stacks').setAttribute('aria-label', `Notifications on ${person.name}’s phone`)
    parts('come-back').append(element('span', {}, `Come back as ${person.name}`))
    parts('come-back').addEventListener('click', open)
  }

  render(now) {
    const { phone, isFocused } = this.#person
    setText(this.#parts('date'), calendarDate(now))
    setText(this.#parts('clock'), clockFace(now))
    this.#parts('lock-focus').hidden = !isFocused
    const all = stacks(phone)
    if (all.length === 0) this.#unfolded.clear()
    const rows = []
    let isQuietYet = false
    for (const stack of all) {
      if (stack.isQuiet && !isQuietYet) rows.push(this.#kept('quiet', silencedTitle))
      isQuietYet ||= stack.isQuiet
      rows.push(...this.#stack(stack, now))
    }
    for (const [key, card] of this.#cards) if (!rows.includes(card)) this.#cards.delete(key)
    arrange(this.#parts('stacks'), rows)
  }

  /** The newest notification as a banner over the open app, for a person who is not looking. */
  renderBanner(isShown) {
    const newest = this.#person.phone.at(-1)
    const banners = this.#parts('banners')
    const id = isShown && newest && !newest.isQuiet ? newest.push : ''
    if (banners.dataset.push === id) return
    banners.dataset.push = id
    banners.replaceChildren(...(id ? [this.#card(newest, 'banner')] : []))
  }

  #stack({ thread, notifications, isQuiet }, now) {
    const isFolded = notifications.length > 1 && !this.#unfolded.has(thread)
    const shown = isFolded ? notifications.slice(0, 1) : notifications
    const rows = shown.map((notification) => {
      const card = this.#kept(`push ${notification.push}`, () => this.#card(notification, 'notification'))
      card.classList.toggle('is-stack', isFolded)
      card.classList.toggle('is-deep', isFolded && notifications.length > 2)
      card.classList.toggle('is-quiet', isQuiet)
      setText(card.querySelector('.card-age'), age(notification.time, now))
      return card
    })
    if (notifications.length > 1) rows.push(this.#fold(thread, isFolded, notifications.length - 1))
    return rows
  }

  #fold(thread, isFolded, others) {
    const fold = this.#kept(`fold ${thread}`, () => {
      const button = element('button', { type: 'button', class: 'unfold', 'data-testid': 'unfold' })
      button.addEventListener('click', () => {
        if (!this.#unfolded.delete(thread)) this.#unfolded.add(thread)
        this.#render()
      })
      return button
    })
    fold.setAttribute('aria-expanded', String(!isFolded))
    setText(fold, isFolded ? `${others} more` : 'Show less')
    return fold
  }

  #card({ from, title, subtitle, body, isUrgent, isAnyway }, testid) {
    const label = isUrgent ? 'Time sensitive' : isAnyway ? 'Notified anyway' : null
    const card = element(
      'button',
      { type: 'button', class: 'card', 'data-testid': testid },
      avatar(from),
      element(
        'span',
        { class: 'card-text' },
        label && element('span', { class: 'card-label' }, label),
        element('span', { class: 'card-title', dir: 'auto' }, title),
        subtitle ? element('span', { class: 'card-subtitle', dir: 'auto' }, subtitle) : null,
        element('span', { class: 'card-body', dir: 'auto', 'data-testid': 'notification-body' }, body)
      ),
      element('span', { class: 'card-age' }, 'now')
    )
    card.addEventListener('click', this.#open)
    return card
  }

  #kept(key, make) {
    if (!this.#cards.has(key)) this.#cards.set(key, make())
    return this.#cards.get(key)
  }
}

function silencedTitle() {
  return element('p', { class: 'silenced', 'data-testid': 'silenced' }, icon('moon'), 'Delivered quietly')
}
