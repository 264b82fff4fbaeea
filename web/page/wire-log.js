// SPDX-License-Identifier: Apache-2.0
import { element, perPicture } from './dom.js'

const limit = 200
const arrows = { sent: '→', received: '←', http: '⇄', push: '◆' }
const readings = { sent: 'to the relay', received: 'from the relay', http: 'over HTTP', push: 'push to the phone of' }

/** The log of the newest 200 frames, calls and pushes of all people. */
export class WireLog {
  #entries
  #count
  #total = 0
  #place
  #queue = []
  #flush = perPicture(() => this.#show())

  /** Omits `place` from the short lines, because it is the same in all of them. */
  constructor(root, place) {
    this.#place = place
    document.head.append(element('link', { rel: 'stylesheet', href: new URL('wire-log.css', import.meta.url) }))
    const part = (name) => root.querySelector(`[data-part="${name}"]`)
    this.#entries = part('entries')
    this.#count = part('count')
    this.#entries.addEventListener('keydown', (event) => this.#walk(event))
  }

  clear() {
    this.#entries.replaceChildren()
    this.#queue = []
    this.#total = 0
    this.#count.textContent = ''
  }

  /** `entry` is the detail of a person's `wire` event, with `time` (a `Date`). */
  add(person, entry) {
    this.#queue.push({ person, ...entry })
    if (this.#queue.length > limit) this.#queue.shift()
    this.#total += 1
    this.#flush()
  }

  // The tab key stops once at the list. The arrow keys move inside it.
  #walk(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (!step) return
    event.preventDefault()
    const rows = [...this.#entries.querySelectorAll('summary')]
    const at = rows.indexOf(document.activeElement)
    rows.at(at < 0 ? -1 : Math.max(0, Math.min(rows.length - 1, at + step)))?.focus()
  }

  #show() {
    const list = this.#entries
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 48
    list.append(...this.#queue.splice(0).map((entry) => row(entry, this.#place)))
    while (list.children.length > limit) list.firstElementChild.remove()
    this.#count.textContent = this.#total > limit ? `newest ${limit} of ${this.#total}` : String(this.#total)
    if (isAtEnd) list.scrollTop = list.scrollHeight
  }
}

function row({ person, kind, name, text, answers, time }, place) {
  const short = (full) => (place ? full.replaceAll(`-${place}`, '') : full)
  const summary = element(
    'summary',
    { tabindex: '-1' },
    element('time', {}, time.toTimeString().slice(0, 8)),
    element('b', { class: 'who' }, person),
    element('span', { class: 'arrow', 'aria-hidden': 'true' }, arrows[kind]),
    element('span', { class: 'visually-hidden' }, readings[kind]),
    element('span', { class: 'type' }, short(name)),
    answers ? element('span', { class: 'answers' }, answers) : null,
    element('code', {}, short(gist(text)))
  )
  const details = element('details', {}, summary)
  // Formats the full text only when a visitor opens the entry.
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(element('pre', {}, full(text)))
    if (details.open) details.scrollIntoView({ block: 'nearest' })
  })
  return element(
    'li',
    { 'data-testid': 'wire-entry', 'data-kind': kind, 'data-type': name, 'data-person': person.toLowerCase() },
    details
  )
}

// Shortens a frame for its line. Omits the type, which the line shows, and the room, which is the same in all lines.
function gist(text) {
  return text
    .replace(/^\{"type":"[^"]*",?/, '{')
    .replace(/"(id|room)":("[^"]*"|\d+),?/g, '')
    .replace(/,\}/g, '}')
    .slice(0, 240)
}

function full(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
