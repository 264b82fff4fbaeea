// SPDX-License-Identifier: Apache-2.0
import { categories } from './categories.js'
import { age, calendarDate, clockFace } from './clock.js'
import { appIcon, arrange, avatar, element, icon, setText } from './dom.js'
import { focusNames } from './focus.js'
import { stacks } from './phone.js'

const headings = { quiet: 'Delivered quietly', summary: 'In the summary at 6 PM' }

/** The locked phone: the clock, the Focus, and the notifications in one stack for each thread. */
export class LockScreen {
  #person
  #parts
  #open
  #cards = new Map()
  #unfolded = new Set()
  #render

  /**
   * Calls `open` when the person selects a notification, with its room if the account is the person's own, or with null
   * for the list of rooms.
   */
  constructor(person, parts, open, render) {
    this.#person = person
    this.#parts = parts
    this.#open = open
    this.#render = render
    parts('stacks').setAttribute('aria-label', `Notifications on ${person.name}’s phone`)
  }

  render(now) {
    const { phone, focus, departure } = this.#person
    setText(this.#parts('date'), calendarDate(Date.now()))
    setText(this.#parts('clock'), clockFace(Date.now()))
    this.#parts('lock-focus').hidden = focus.mode === 'off'
    setText(this.#parts('lock-focus-name'), focusNames[focus.mode])
    this.#parts('no-network').hidden = departure !== 'lost'
    this.#parts('lock').classList.toggle('is-off', departure === 'off')
    setText(this.#parts('badge'), phone.badge ? String(phone.badge) : '')
    this.#parts('badge-text').textContent = `App icon: ${phone.badge || 'no'} badge`
    const all = stacks(phone.notifications)
    if (all.length === 0) this.#unfolded.clear()
    const rows = []
    let place = 'loud'
    for (const stack of all) {
      if (stack.place !== place) rows.push(this.#kept(`heading ${stack.place}`, () => this.#heading(stack.place)))
      place = stack.place
      rows.push(...this.#stack(stack, now))
    }
    for (const [key, card] of this.#cards) if (!rows.includes(card)) this.#cards.delete(key)
    arrange(this.#parts('stacks'), rows)
  }

  /** The newest notification as a banner over the open app, for a person who is not looking. */
  renderBanner(isShown) {
    const newest = this.#person.phone.notifications.at(-1)
    const banners = this.#parts('banners')
    const id = isShown && newest && !newest.isQuiet ? newest.push : ''
    if (banners.dataset.push === id) return
    banners.dataset.push = id
    banners.replaceChildren(...(id ? [this.#card(newest, 'banner')] : []))
    if (id) this.#nameAccount(banners.firstElementChild, newest)
  }

  #stack({ thread, place, notifications }, now) {
    const key = ({ push }) => `push ${push}`
    const isWritten = (notification) => this.#cards.get(key(notification))?.querySelector('form') != null
    const isFolded = notifications.length > 1 && !this.#unfolded.has(thread) && !notifications.some(isWritten)
    const shown = isFolded ? notifications.slice(0, 1) : notifications
    const rows = shown.map((notification) => {
      const card = this.#kept(key(notification), () => this.#card(notification, 'notification'))
      card.classList.toggle('is-stack', isFolded)
      card.classList.toggle('is-deep', isFolded && notifications.length > 2)
      card.classList.toggle('is-quiet', place !== 'loud')
      setText(card.querySelector('.card-age'), age(notification.time, now))
      this.#nameAccount(card, notification)
      return card
    })
    if (notifications.length > 1) rows.push(this.#fold(thread, isFolded, notifications))
    return rows
  }

  // A phone with one account need not name it.
  #nameAccount(card, { recipient }) {
    const line = card.querySelector('.card-account')
    line.hidden = recipient === this.#person.user && this.#person.accounts.length === 0
    setText(line, line.hidden ? '' : `For ${this.#person.nameOf(recipient)}`)
  }

  #fold(thread, isFolded, notifications) {
    const fold = this.#kept(`fold ${thread}`, () => {
      const button = element('button', { type: 'button', class: 'unfold', 'data-testid': 'unfold' })
      button.addEventListener('click', () => {
        if (!this.#unfolded.delete(thread)) this.#unfolded.add(thread)
        this.#render()
      })
      return button
    })
    const from = [...new Set(notifications.slice(1).map((other) => other.from))].join(', ')
    fold.setAttribute('aria-expanded', String(!isFolded))
    setText(fold, isFolded ? `${notifications.length - 1} more from ${from}` : 'Show less')
    return fold
  }

  #card(notification, testid) {
    const { from, title, subtitle, body, why, category, isDigest, isPerson, hasSound } = notification
    const line = (name, text) => (text ? element('span', { class: `card-${name}`, dir: 'auto' }, text) : null)
    const open = element(
      'button',
      { type: 'button', class: 'card-open' },
      isPerson ? element('span', { class: 'portrait' }, avatar(from), appIcon()) : appIcon(),
      element(
        'span',
        { class: 'card-text' },
        element('span', { class: 'card-label card-account', 'data-testid': 'account', hidden: true }),
        why ? element('span', { class: 'card-label', 'data-testid': 'why' }, why) : null,
        line('title', title),
        line('subtitle', subtitle),
        element('span', { class: 'card-body', dir: 'auto', 'data-testid': 'notification-body' }, body)
      ),
      element(
        'span',
        { class: 'card-side' },
        element('span', { class: 'card-age' }, 'now'),
        icon(hasSound ? 'bell' : 'bell-off'),
        element('span', { class: 'visually-hidden' }, hasSound ? 'With sound' : 'Without sound')
      )
    )
    // The demo opens the app with the account of its own person only.
    const isOwn = notification.recipient === this.#person.user
    const room = notification.isInvitation ? null : notification.message?.room
    open.addEventListener('click', () => this.#open(isOwn ? room : undefined))
    const actions = categories[category]?.actions ?? []
    return element(
      'div',
      {
        class: 'card',
        'data-testid': testid,
        'data-digest': isDigest,
        'data-sound': String(hasSound),
        'data-person-shown': String(isPerson),
      },
      open,
      actions.length ? this.#actions(notification, actions) : null
    )
  }

  // The actions that iOS shows when a person holds a notification.
  #actions(notification, actions) {
    const row = element('div', { class: 'actions', role: 'group', 'aria-label': `Answer to ${notification.from}` })
    for (const { id, title, options, textInput } of actions) {
      const isDestructive = options?.includes('destructive') === true
      const attributes = { type: 'button', 'data-testid': id, class: isDestructive && 'is-destructive' }
      const button = element('button', attributes, title)
      button.addEventListener('click', () => {
        if (!textInput) this.#respond(notification, id)
        else if (!row.querySelector('form')) row.append(this.#reply(notification, id, textInput))
        row.querySelector('input')?.focus()
      })
      row.append(button)
    }
    return row
  }

  #reply(notification, action, { button, placeholder }) {
    const attributes = { type: 'text', placeholder, 'aria-label': placeholder, maxlength: 1000 }
    const field = element('input', { ...attributes, 'data-testid': 'reply-text' })
    const form = element('form', {}, field, element('button', { type: 'submit' }, button))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (field.value.trim()) this.#respond(notification, action, field.value.trim())
    })
    return form
  }

  // The card disappears, so the keyboard focus moves to the list.
  #respond(notification, action, text) {
    this.#person.respond(notification, action, text)
    this.#parts('stacks').focus({ preventScroll: true })
  }

  #heading(place) {
    const testid = place === 'quiet' ? 'silenced' : place
    const heading = element('p', { class: 'silenced', 'data-testid': testid }, icon('moon'), headings[place])
    if (place !== 'summary') return heading
    const now = element('button', { type: 'button', class: 'unfold', 'data-testid': 'deliver-summary' }, 'Now')
    now.addEventListener('click', () => this.#person.deliverSummary())
    heading.append(now)
    return heading
  }

  #kept(key, make) {
    if (!this.#cards.has(key)) this.#cards.set(key, make())
    return this.#cards.get(key)
  }
}
