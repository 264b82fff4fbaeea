// SPDX-License-Identifier: Apache-2.0
import { element, icon, setText } from './dom.js'
import { startOver } from './place.js'
import { steps } from './story.js'

const opening =
  'A minute with Alice, Bob and their phones. All of it is real: two WebSocket connections, one relay, pushes and all.'

/** How long a step stays in sight while the story plays by itself. */
const reading = 4_500

/** `<guided-story>`: plays the story by itself or step by step. A step is done when the relay's own words say so. */
export class GuidedStory extends HTMLElement {
  #scene
  #panels
  #at = 0
  #isPlaying = false
  #isActing = false
  #items = []

  /** Tells the story with these two, after the given step, up to which it is played at once. */
  async tell(panels, step) {
    const [alice, bob] = panels.map((panel) => panel.person)
    this.#panels = { alice: panels[0], bob: panels[1] }
    this.#scene = { alice, bob, until: (condition) => this.#until(condition) }
    this.#build()
    await this.#until(() => [alice, bob].every((person) => person.isLooking && person.others.length > 0))
    this.#show()
    while (this.#at < step) await this.#play()
  }

  #build() {
    const part = (name) => this.querySelector(`[data-part="${name}"]`)
    steps.forEach(({ title }, at) => {
      const number = element('span', { class: 'number', 'data-number': at + 1 }, icon('check'))
      const attributes = { type: 'button', 'data-testid': `step-${at + 1}` }
      const button = element('button', attributes, number, element('b', {}, title))
      // What was played cannot be undone, so another step begins in another place.
      button.addEventListener('click', () => (at === this.#at ? this.#play() : startOver(at + 1)))
      const item = element('li', {}, button)
      this.#items.push(item)
      part('steps').append(item)
    })
    part('play').addEventListener('click', () => (this.#isPlaying ? this.#pause() : this.#playOn()))
    part('next').addEventListener('click', () => (this.#at < steps.length ? this.#play() : startOver()))
    this.#show()
  }

  async #playOn() {
    this.#isPlaying = true
    while (this.#isPlaying && this.#at < steps.length) {
      await this.#play()
      if (this.#at < steps.length) await new Promise((resolve) => setTimeout(resolve, reading))
    }
    this.#pause()
  }

  #pause() {
    this.#isPlaying = false
    this.#show()
  }

  async #play() {
    if (this.#isActing) return
    this.#isActing = true
    const step = steps[this.#at]
    this.#show()
    await step.act(this.#scene)
    await this.#until(() => step.isDone(this.#scene))
    this.#point(step.at)
    this.#at += 1
    this.#isActing = false
    this.#show()
  }

  #show() {
    const told = steps[this.#isActing ? this.#at : this.#at - 1]
    const isOver = this.#at === steps.length
    this.#items.forEach((item, at) => {
      item.classList.toggle('is-done', at < this.#at)
      item.toggleAttribute('aria-current', at === this.#at)
      if (at === this.#at) item.setAttribute('aria-current', 'step')
    })
    const part = (name) => this.querySelector(`[data-part="${name}"]`)
    setText(part('caption'), told?.text ?? opening)
    setText(part('play'), this.#isPlaying ? 'Pause' : 'Play')
    part('play').disabled = isOver
    setText(part('next'), isOver ? 'Start over' : this.#at === 0 ? 'First step' : 'Next step')
    part('next').disabled = this.#isActing
    this.dataset.step = this.#at
  }

  /** Resolves with the first truth that `condition` tells, whenever either of the two changes. */
  #until(condition) {
    const { alice, bob } = this.#scene
    return new Promise((resolve) => {
      const look = () => {
        const truth = condition()
        if (!truth) return
        for (const person of [alice, bob]) person.removeEventListener('change', look)
        resolve(truth)
      }
      for (const person of [alice, bob]) person.addEventListener('change', look)
      look()
    })
  }

  #point([who, name]) {
    const part = this.#panels[who].part(name)
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
    part.closest('.phone').scrollIntoView({ block: 'nearest', behavior: isCalm ? 'auto' : 'smooth' })
    part.classList.add('is-pointed-at')
    setTimeout(() => part.classList.remove('is-pointed-at'), 1_600)
  }
}

customElements.define('guided-story', GuidedStory)
