// SPDX-License-Identifier: Apache-2.0
import { clockFace } from './clock.js'
import { ConversationView } from './conversation-view.js'
import { perPicture, setText } from './dom.js'
import { LockScreen } from './lock-screen.js'
import { webPushKey } from './web-push.js'

const minute = 60_000

/** One person's panel: name, connection, Focus, the phone with its two faces, and the ways to leave. */
export class PersonView {
  root
  #person
  #parts
  #conversation
  #lockScreen

  constructor(person, peerName, template) {
    const root = template.content.firstElementChild.cloneNode(true)
    const parts = (name) => root.querySelector(`[data-part="${name}"]`)
    const render = perPicture(() => this.#render())
    this.root = root
    this.#person = person
    this.#parts = memoized(parts)
    this.#conversation = new ConversationView(person, peerName, this.#parts)
    this.#lockScreen = new LockScreen(person, this.#parts, () => this.#comeBack(), render)
    this.#prepare()
    person.addEventListener('change', render)
    this.#tick(render)
  }

  #prepare() {
    const { name } = this.#person
    const key = name.toLowerCase()
    this.root.dataset.testid = `person-${key}`
    this.root.dataset.person = key
    this.root.setAttribute('aria-label', name)
    this.#parts('name').textContent = name
    this.#parts('focus').setAttribute('aria-label', `${name}’s Focus`)
    this.#parts('focus').addEventListener('click', () => this.#person.setFocus(!this.#person.isFocused))
    this.#parts('go-away').addEventListener('click', () => this.#leave('closed'))
    this.#parts('lose').addEventListener('click', () => this.#leave('lost'))
    this.#offerPush()
    const activity = this.#parts('activity')
    activity.querySelector('legend').textContent = `${name}’s activity`
    for (const choice of activity.querySelectorAll('input')) {
      choice.name = `${key}-activity`
      choice.dataset.testid = `activity-${choice.value}`
      choice.addEventListener('change', () => this.#person.setActivity(choice.value))
    }
  }

  // Only where this browser and the relay can do it.
  async #offerPush() {
    const key = await webPushKey().catch(() => null)
    if (!key) return
    const button = this.#parts('push-here')
    button.hidden = false
    button.addEventListener('click', async () => {
      button.disabled = true
      button.disabled = await this.#person.pushHere(key)
    })
  }

  // The button that was pressed disappears, so the keyboard is taken to its counterpart.
  #leave(departure) {
    this.#person.leave(departure)
    this.#render()
    this.#parts('come-back').focus({ preventScroll: true })
  }

  #comeBack() {
    this.#person.comeBack()
    this.#render()
    this.#parts('text').focus({ preventScroll: true })
  }

  #render() {
    const person = this.#person
    const now = Date.now()
    const isAway = person.departure !== null
    const isLocked = isAway || person.activity === 'background'
    this.root.classList.toggle('is-idle', person.activity === 'idle')
    this.root.dataset.connection = person.connection
    this.#parts('chat').inert = isLocked
    this.#parts('lock').inert = !isLocked
    this.#parts('focus').setAttribute('aria-checked', String(person.isFocused))
    this.#parts('status-moon').classList.toggle('is-on', person.isFocused)
    setText(this.#parts('status-time'), clockFace(now))
    setText(this.#parts('connection'), connectionText(person))
    this.#parts('go-away').disabled = isAway
    this.#parts('lose').disabled = isAway
    this.#parts('activity').disabled = isAway
    for (const choice of this.#parts('activity').querySelectorAll('input')) {
      choice.checked = choice.value === person.activity
    }
    this.#conversation.render(now)
    this.#lockScreen.render(now)
    this.#lockScreen.renderBanner(!isLocked && person.activity === 'idle')
  }

  // Clocks and “5 min ago” change on the minute.
  #tick(render) {
    render()
    setTimeout(() => this.#tick(render), minute - (Date.now() % minute))
  }
}

function connectionText({ connection, departure, activity, refusal }) {
  if (departure === 'closed') return 'Away: closed the app'
  if (departure === 'lost') return 'Cut off without a goodbye'
  switch (connection) {
    case 'open':
      return { active: 'Connected', idle: 'Connected, not looking', background: 'App in the background' }[activity]
    case 'waiting':
      return 'Connection lost, coming back…'
    case 'refused':
      return `Not coming back: ${refusal}`
    default:
      return 'Connecting…'
  }
}

function memoized(find) {
  const found = new Map()
  return (name) => {
    if (!found.has(name)) found.set(name, find(name))
    return found.get(name)
  }
}
