// SPDX-License-Identifier: Apache-2.0
import { element, icon } from './dom.js'
import { isSilenced } from './presence.js'

/**
 * The short tour. A step is done when the relay's own words say so, not when a button was pressed; pressing
 * a step points at what to do.
 */
export class Guide {
  #steps
  #hasBobLeft = false
  #hasRung = false
  #hasReturned = false
  #wasSilenced = false

  constructor(root, alice, bob, { aliceView, bobView }) {
    const control = (view, testid) => view.root.querySelector(`[data-testid="${testid}"]`)
    this.#steps = [
      step(root, 'Switch on Bob’s Focus', 'Alice is told, discreetly', () => control(bobView, 'focus-switch')),
      step(root, 'Send Bob away', 'his screen becomes his phone', () => control(bobView, 'go-away')),
      step(root, 'Write to Bob', 'his phone is told, quietly', () => control(aliceView, 'composer-text')),
      step(root, 'Bring Bob back', 'nothing lost, nothing twice', () => control(bobView, 'come-back')),
    ]
    const update = () => this.#update(alice, bob)
    alice.addEventListener('change', update)
    bob.addEventListener('change', update)
    update()
  }

  #update(alice, bob) {
    const seen = alice.presence[bob.user]
    this.#wasSilenced ||= isSilenced(seen)
    this.#hasBobLeft ||= bob.departure !== null && seen?.online === false
    this.#hasRung ||= bob.departure !== null && bob.phone.length > 0
    this.#hasReturned ||= this.#hasRung && bob.isLooking
    const done = [this.#wasSilenced, this.#hasBobLeft, this.#hasRung, this.#hasReturned]
    const current = done.indexOf(false)
    this.#steps.forEach((item, at) => {
      item.classList.toggle('is-done', done[at])
      item.querySelector('.visually-hidden').hidden = !done[at]
      if (at === current) item.setAttribute('aria-current', 'step')
      else item.removeAttribute('aria-current')
    })
  }
}

function step(root, title, outcome, target) {
  const button = element(
    'button',
    { type: 'button' },
    element('span', { class: 'number', 'data-number': root.children.length + 1 }, icon('check')),
    element('span', { class: 'visually-hidden' }, 'Done: '),
    element('span', {}, element('b', {}, title), ' ', element('small', {}, outcome))
  )
  button.addEventListener('click', () => point(target()))
  const item = element('li', {}, button)
  root.append(item)
  return item
}

function point(control) {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
  control.scrollIntoView({ block: 'center', behavior: isCalm ? 'auto' : 'smooth' })
  control.focus({ preventScroll: true })
  control.classList.add('is-pointed-at')
  setTimeout(() => control.classList.remove('is-pointed-at'), 1_600)
}
