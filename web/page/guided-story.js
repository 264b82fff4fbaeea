// SPDX-License-Identifier: Apache-2.0
// Plays the steps of story.js.
import { element, icon, setText } from './dom.js'
import { startOver } from './place.js'
import { steps } from './story.js'

const opening =
  'A minute with Alice, Bob and their phones. All of it is real: two WebSocket connections, one relay, pushes and all.'

const stuck = 'This step did not happen. Is the relay running, or did somebody else take part? Start over to try again.'

/** Timeout of a step in milliseconds. It includes the waits of the relay. */
const patience = 25_000

/** Time in milliseconds to read a step while the story plays by itself. */
const reading = 4_500

/** `<guided-story>`: plays the story by itself or step by step. A step ends when the relay's events show its result. */
export class GuidedStory extends HTMLElement {
  #scene
  #panels
  #at = 0
  #isPlaying = false
  #isActing = false
  #isStuck = false
  /** The number of the current run. A run that was paused during a step does not continue after it. */
  #run = 0
  /** Ends the reading time of a step. */
  #wake = () => {}
  #items = []

  /** Starts the story with two panels. Plays the steps up to `step` immediately. */
  async tell(panels, step) {
    const [alice, bob] = panels.map((panel) => panel.person)
    this.#panels = { alice: panels[0], bob: panels[1] }
    this.#scene = { alice, bob, until: (condition) => this.#until(condition) }
    this.#build()
    if (step === 0) return
    await this.#until(() => [alice, bob].every((person) => person.isLooking && person.others.length > 0)).catch(() => {})
    while (this.#at < step && !this.#isStuck) await this.#play()
  }

  #build() {
    const part = (name) => this.querySelector(`[data-part="${name}"]`)
    steps.forEach(({ title }, at) => {
      const number = element('span', { class: 'number', 'data-number': at + 1 }, icon('check'))
      const attributes = { type: 'button', 'data-testid': `step-${at + 1}` }
      const button = element('button', attributes, number, element('b', {}, title))
      // A played step cannot be undone, so another step starts in a new place.
      button.addEventListener('click', () => (at === this.#at ? this.#play() : startOver(at + 1)))
      const item = element('li', {}, button)
      this.#items.push(item)
      part('steps').append(item)
    })
    part('play').addEventListener('click', () => (this.#isPlaying ? this.#pause() : this.#playOn()))
    part('next').addEventListener('click', () => (this.#isOver ? startOver() : this.#play()))
    this.#show()
  }

  async #playOn() {
    this.#isPlaying = true
    const run = ++this.#run
    const isOn = () => this.#isPlaying && run === this.#run && !this.#isOver
    while (isOn()) {
      await this.#play()
      if (!isOn()) break
      await new Promise((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, reading)
      })
    }
    if (run === this.#run) this.#pause()
  }

  #pause() {
    this.#isPlaying = false
    this.#wake()
    this.#show()
  }

  async #play() {
    if (this.#isActing) return
    this.#isActing = true
    const step = steps[this.#at]
    this.#show()
    try {
      this.#gather()
      await step.act(this.#scene)
      await this.#until(() => step.isDone(this.#scene))
      this.#point(step.at)
      this.#at += 1
    } catch {
      this.#isStuck = true
      this.#isPlaying = false
    }
    this.#isActing = false
    this.#show()
  }

  // The visitor may have opened other rooms.
  #gather() {
    for (const person of [this.#scene.alice, this.#scene.bob]) {
      person.calls.dismiss()
      person.open(person.home)
    }
  }

  get #isOver() {
    return this.#isStuck || this.#at === steps.length
  }

  #show() {
    const told = steps[this.#isActing ? this.#at : this.#at - 1]
    this.#items.forEach((item, at) => {
      item.classList.toggle('is-done', at < this.#at)
      if (at === this.#at) item.setAttribute('aria-current', 'step')
      else item.removeAttribute('aria-current')
    })
    const part = (name) => this.querySelector(`[data-part="${name}"]`)
    setText(part('caption'), this.#isStuck ? stuck : (told?.text ?? opening))
    setText(part('play'), this.#isPlaying ? 'Pause' : 'Play')
    part('play').disabled = this.#isOver
    setText(part('next'), this.#isOver ? 'Start over' : this.#at === 0 ? 'First step' : 'Next step')
    // A disabled button would lose the keyboard focus.
    part('next').setAttribute('aria-disabled', String(this.#isActing))
    this.dataset.step = this.#at
  }

  /** Resolves with the first true value of `condition`. Checks it at each change of either person. */
  #until(condition) {
    const { alice, bob } = this.#scene
    return new Promise((resolve, reject) => {
      const end = (settle, value) => {
        clearTimeout(limit)
        for (const person of [alice, bob]) person.removeEventListener('change', look)
        settle(value)
      }
      const look = () => {
        const truth = condition()
        if (truth) end(resolve, truth)
      }
      const limit = setTimeout(() => end(reject, new Error('the condition was not met in time')), patience)
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
