// SPDX-License-Identifier: Apache-2.0
import { call } from './api.js'
import { CallScreen } from './call-screen.js'
import { clockFace } from './clock.js'
import { ConversationView } from './conversation-view.js'
import { arrange, element, perPicture, setText } from './dom.js'
import { InboxView, openTitle } from './inbox-view.js'
import { TabletView } from './tablet-view.js'

const minute = 60_000
const departures = {
  closed: 'Away: closed the app',
  killed: 'The app was killed',
  lost: 'No network',
  off: 'The phone is off',
}
const activities = { active: 'Connected', idle: 'Connected, not looking', background: 'App in the background' }

/** `<person-panel>`: one person's name, connection, phone and controls. `person` is set once. */
export class PersonPanel extends HTMLElement {
  #person
  #parts = new Map()
  #people = new Map()
  #accounts = new Map()
  #conversation
  #lockScreen = null
  #inbox
  #callScreen
  #tablet = null
  #render = perPicture(() => this.#draw())

  set person(person) {
    this.#person = person
    this.append(document.getElementById('person').content.cloneNode(true))
    const part = (name) => this.part(name)
    this.#conversation = new ConversationView(person, part, () => this.#showRooms())
    this.#inbox = new InboxView(person, part, () => this.#resume())
    const nameOf = (user) => person.nameOf(user)
    const titleOf = (room) => openTitle(room, person)
    const act = (choice) => this.#actOnCall(choice)
    this.#callScreen = new CallScreen(person, { nameOf, titleOf }, part, this.querySelector('.screen'), act)
    if (person.tablet) this.#tablet = new TabletView(person, part, this.#render)
    this.#prepare()
    person.addEventListener('change', this.#render)
    this.#tick()
  }

  get person() {
    return this.#person
  }

  /** The element of this panel with this `data-part`. */
  part(name) {
    if (!this.#parts.has(name)) this.#parts.set(name, this.querySelector(`[data-part="${name}"]`))
    return this.#parts.get(name)
  }

  #prepare() {
    const person = this.#person
    const { name } = person
    const key = name.toLowerCase()
    this.dataset.testid = `person-${key}`
    this.dataset.person = key
    this.part('call').setAttribute('aria-label', `Call on ${name}’s phone`)
    this.setAttribute('role', 'region')
    this.setAttribute('aria-label', name)
    this.part('name').textContent = name
    this.#choices('mode', `${name}’s Focus`, (mode) => person.setFocus({ mode }))
    this.#choices('filter', `Filter of ${name}’s Work Focus`, (filter) => person.setFocus({ filter }))
    this.#choices('activity', `${name}’s activity`, (activity) => person.setActivity(activity))
    this.#choices('on-focus', `While ${name} is silenced, pushes are`, (onFocus) => person.setOnFocus(onFocus))
    this.#toggle('allows-app', (allowsApp) => person.setFocus({ allowsApp }))
    this.#toggle('share-focus', (isShared) => person.setFocus({}, isShared))
    this.#toggle('summary', (hasSummary) => person.setSummary(hasSummary))
    this.#toggle('extension', (hasExtension) => person.setExtension(hasExtension))
    this.part('come-back').addEventListener('click', () => this.#comeBack())
    this.part('order').addEventListener('click', () => person.order())
    this.part('stranger').addEventListener('click', () => this.#meetStranger())
    for (const departure of Object.keys(departures)) {
      this.part(departure).addEventListener('click', () => this.#leave(departure))
    }
    this.#offerPush()
  }

  #choices(name, legend, choose) {
    const group = this.part(name)
    group.setAttribute('aria-label', legend)
    for (const choice of group.querySelectorAll('input')) {
      choice.name = `${this.dataset.person}-${name}`
      choice.dataset.testid = `${name}-${choice.value}`
      choice.addEventListener('change', () => choose(choice.value))
    }
  }

  #toggle(name, choose) {
    this.part(name).dataset.testid = name
    this.part(name).addEventListener('change', ({ target }) => choose(target.checked))
  }

  async #meetStranger() {
    try {
      const { meetStranger } = await import('./stranger.js')
      await meetStranger(this.#person)
    } catch (error) {
      this.#complain(`The stranger did not invite ${this.#person.name}: ${error.message}`)
    }
  }

  #complain(detail) {
    this.#person.dispatchEvent(new CustomEvent('complaint', { detail }))
  }

  // Offers Web Push if this browser and the relay support it.
  async #offerPush() {
    if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) return
    const key = await call('GET', 'v1/webpush').then(({ publicKey }) => publicKey, () => null)
    if (!key) return
    const button = this.part('push-here')
    button.hidden = false
    button.addEventListener('click', async () => {
      button.disabled = true
      try {
        const { pushHere } = await import('./web-push.js')
        await pushHere(this.#person.user, key)
      } catch (error) {
        button.disabled = false
        this.#complain(`This browser gets no pushes for ${this.#person.name}: ${error.message}`)
      }
    })
  }

  // The pressed button disappears, so the keyboard focus moves to its counterpart.
  #leave(departure) {
    this.#person.leave(departure)
    this.#draw()
    this.part('come-back').focus({ preventScroll: true })
  }

  // `room` is the room to open, or null for the list of rooms.
  #comeBack(room) {
    if (this.#person.departure === 'off') {
      this.#person.switchOn()
      return this.#resume()
    }
    if (room) this.#person.open(room)
    else if (room === null) this.#person.showRooms()
    this.#person.comeBack()
    this.#resume()
  }

  #showRooms() {
    this.#person.showRooms()
    this.#resume()
  }

  #resume() {
    this.#draw()
    if (!this.#person.isLocked && this.#person.room === null) this.#inbox.focus()
    else this.part(this.#person.isLocked ? 'come-back' : 'text').focus({ preventScroll: true })
  }

  #actOnCall(choice) {
    const { calls, isLocked } = this.#person
    if (choice === 'done') {
      calls.dismiss()
      return this.#resume()
    }
    const { room } = calls.call
    calls.act({ accept: 'answer', decline: 'decline', 'hang-up': 'hangup' }[choice])
    // The person sees the app during a call.
    if (choice === 'accept' && isLocked) this.#comeBack(room)
  }

  #draw() {
    const person = this.#person
    const { focus, phone, isLocked, activity, now } = person
    const isAway = person.departure !== null
    this.classList.toggle('is-idle', activity === 'idle')
    this.dataset.connection = person.connection
    const isOnCall = person.calls.call.phase !== 'none'
    this.part('chat').inert = isLocked || isOnCall || person.room === null
    this.part('inbox').inert = isLocked || isOnCall || person.room !== null
    this.part('lock').inert = !isLocked || isOnCall
    this.part('call').inert = !isOnCall
    this.part('status-moon').classList.toggle('is-on', focus.mode !== 'off')
    setText(this.part('status-time'), clockFace(Date.now()))
    setText(this.part('connection'), connectionText(person))
    for (const departure of Object.keys(departures)) this.part(departure).disabled = isAway
    this.part('activity').disabled = isAway
    const chosen = { mode: focus.mode, filter: focus.filter, activity, 'on-focus': person.onFocus }
    for (const [name, value] of Object.entries(chosen)) {
      for (const choice of this.part(name).querySelectorAll('input')) choice.checked = choice.value === value
    }
    this.part('work').hidden = focus.mode !== 'work'
    this.part('allows-app').checked = focus.allowsApp
    this.part('share-focus').checked = person.isFocusShared
    this.part('summary').checked = phone.hasSummary
    this.part('extension').checked = phone.hasExtension
    this.#drawPeople('people', this.#people, (user) => this.#allowance(user), person.focus.people)
    this.#drawPeople('accounts', this.#accounts, (user) => this.#account(user), person.accounts)
    this.part('accounts-group').hidden = person.people.length === 0
    this.#conversation.render(now)
    this.#inbox.render()
    setText(this.part('come-back'), person.departure === 'off' ? 'Switch on' : `Come back as ${person.name}`)
    this.#lockScreen?.render(now)
    this.#lockScreen?.renderBanner(!isLocked && activity === 'idle')
    if (!this.#lockScreen && (isLocked || activity === 'idle')) this.#loadLockScreen().catch(() => {})
    this.#callScreen.render()
    this.#tablet?.render()
  }

  // A page that starts shows no lock screen, so its module is loaded later. After a failure the next drawing tries it.
  async #loadLockScreen() {
    const { LockScreen } = await import('./lock-screen.js')
    this.#lockScreen ??= new LockScreen(
      this.#person,
      (name) => this.part(name),
      (room) => this.#comeBack(room),
      this.#render
    )
    this.#render()
  }

  // Draws a box for each other person, with those of `chosen` ticked.
  #drawPeople(part, boxes, make, chosen) {
    const rows = this.#person.people.map((user) => {
      if (!boxes.has(user)) boxes.set(user, make(user))
      const label = boxes.get(user)
      label.firstElementChild.checked = chosen.includes(user)
      return label
    })
    arrange(this.part(part), rows)
  }

  #allowance(user) {
    return this.#box('allows', user, (isAllowed) => {
      const { people } = this.#person.focus
      this.#person.setFocus({ people: isAllowed ? [...people, user] : people.filter((other) => other !== user) })
    })
  }

  #account(user) {
    return this.#box('account', user, (isSignedIn) => this.#person.setAccount(user, isSignedIn))
  }

  #box(prefix, user, choose) {
    const name = this.#person.nameOf(user)
    const box = element('input', { type: 'checkbox', 'data-testid': `${prefix}-${name.toLowerCase()}` })
    box.addEventListener('change', () => choose(box.checked))
    return element('label', { class: 'check' }, box, name)
  }

  // Texts such as the clock and “5 min ago” change each minute.
  #tick() {
    this.#render()
    setTimeout(() => this.#tick(), minute - (Date.now() % minute))
  }
}

function connectionText({ connection, departure, activity, refusal }) {
  if (departure) return departures[departure]
  switch (connection) {
    case 'open':
      return activities[activity]
    case 'waiting':
      return 'Connection lost, reconnecting…'
    case 'refused':
      return `Refused: ${refusal}`
    default:
      return 'Connecting…'
  }
}

customElements.define('person-panel', PersonPanel)
