// SPDX-License-Identifier: Apache-2.0
// Draws the relay's decisions. push-watch.js requests them, and trace.js has their state.
import { timeOfDay } from './clock.js'
import { bodyText } from './conversation.js'
import { arrange, element, perPicture, setText } from './dom.js'
import { originOf } from './ios.js'
import { PushWatch } from './push-watch.js'
import { noTraces, traceOf, tracesAfter } from './trace.js'

const outcomes = { push: 'Push', hold: 'Hold', wait: 'Wait', none: 'No push' }
const fates = { received: 'An app has it', read: 'Read', onPhone: 'The phone says that it arrived' }

/** The delay in milliseconds after which a received message is shown without the reply to its send. */
const patience = 500

/** `<relay-view>`: the relay's decisions about each message, with their rules, the push jobs and the payloads. */
export class RelayView extends HTMLElement {
  #people = []
  #traces = noTraces
  #watch
  #rows = new Map()
  #render = perPicture(() => this.#draw())

  /** Follows the messages that this person sends, and the pushes to their phone. */
  follow(person) {
    this.#watch ??= new PushWatch(() => this.#traces, (input) => this.#take(input))
    this.#people.push(person)
    person.setReachable(!this.#gateway.checked)
    person.addEventListener('sent', ({ detail }) => this.#sent({ from: person.user, ...detail }))
    person.addEventListener('received', ({ detail }) => this.#received(detail))
    person.addEventListener('fate', ({ detail }) => this.#fate(person, detail))
    person.addEventListener('push', ({ detail }) => this.#delivered(person, detail))
  }

  connectedCallback() {
    document.addEventListener('visibilitychange', () => this.#watch?.look())
    this.#gateway.addEventListener('change', () => {
      this.#reach(!this.#gateway.checked)
      this.#watch?.look()
    })
    // The relay retries for a month, so a closed page must not leave the gateway down.
    addEventListener('pagehide', () => this.#gateway.checked && this.#reach(true))
    addEventListener('pageshow', () => this.#gateway.checked && this.#reach(false))
  }

  get #gateway() {
    return this.querySelector('[data-part="gateway"]')
  }

  #reach(isReachable) {
    for (const person of this.#people) person.setReachable(isReachable)
  }

  #take(input) {
    this.#traces = tracesAfter(this.#traces, input)
    const preference = input.facts?.recipient?.onFocus
    if (preference) this.#people.find(({ user }) => user === input.user)?.heardOfPreference(preference)
    this.#render()
  }

  // The reply to a send contains the push options, so a message that was sent here is traced from its reply.
  #received({ room, seq, from, body }) {
    setTimeout(() => this.#sent({ room, seq, from, text: bodyText(body) }), patience)
  }

  #sent({ room, seq, from, text, push }) {
    if (traceOf(this.#traces, { room, seq })) return
    const to = this.#people.map(({ user }) => user).filter((user) => user !== from)
    this.#take({ type: 'sent', room, seq, from, text, time: performance.now(), to })
    for (const user of to) this.#watch.decide({ room, seq, from, push, user }).catch(() => {})
  }

  #fate({ user: from }, { room, user, seq, state }) {
    // A receipt covers all earlier messages, and a `delivery` one message.
    const isMeant = (trace) => trace.seq === seq || (['received', 'read'].includes(state) && trace.seq < seq)
    for (const trace of this.#traces) {
      if (trace.room !== room || trace.from !== from || !isMeant(trace)) continue
      this.#take({ type: 'fate', room, seq: trace.seq, user, state })
    }
    this.#watch.look()
  }

  // The view follows a person's own phone, and not the phone of another person with this account. A push may arrive
  // before the reply to the send.
  #delivered({ user }, { payload, headers }, isLate) {
    const { room, seq } = payload.message ?? {}
    if (originOf(payload).recipient !== user) return
    if (!traceOf(this.#traces, { room, seq })) {
      if (!isLate) setTimeout(() => this.#delivered({ user }, { payload, headers }, true), 2 * patience)
      return
    }
    this.#take({ type: 'delivered', room, seq, user, payload })
    this.#watch.lint({ room, seq, user, payload, headers }).catch(() => {})
    this.#watch.look()
  }

  #draw() {
    const rows = this.#traces.map((trace) => this.#trace(trace))
    for (const [key, row] of this.#rows) if (!rows.includes(row)) this.#rows.delete(key)
    this.querySelector('[data-part="relay-empty"]').hidden = rows.length > 0
    arrange(this.querySelector('[data-part="traces"]'), rows)
  }

  #trace({ room, seq, from, text, ends }) {
    const key = `${room}/${seq}`
    if (!this.#rows.has(key)) {
      const sender = element('b', { 'data-person': this.#key(from) }, this.#name(from))
      const words = [element('q', { dir: 'auto' }, text), element('small', {}, `seq ${seq}`)]
      const head = element('p', { class: 'trace-head' }, sender, ...words)
      this.#rows.set(key, element('li', { class: 'trace', 'data-testid': 'trace', 'data-seq': seq }, head))
    }
    const row = this.#rows.get(key)
    for (const known of row.querySelectorAll('.end')) if (!(known.dataset.user in ends)) known.remove()
    for (const [user, end] of Object.entries(ends)) {
      const known = row.querySelector(`[data-user="${CSS.escape(user)}"]`) ?? this.#end(user)
      if (!known.isConnected) row.append(known)
      this.#fill(known, end)
    }
    return row
  }

  #end(user) {
    const part = (name, tag = 'p') => element(tag, { class: name, 'data-testid': name })
    const name = element('b', { 'data-person': this.#key(user) }, `to ${this.#name(user)}`)
    return element(
      'div',
      { class: 'end', 'data-user': user, 'data-to': this.#key(user) },
      element('p', { class: 'end-head' }, name, part('outcomes', 'span')),
      part('reasons'),
      part('life', 'ol'),
      part('summary'),
      element(
        'details',
        { class: 'payload', hidden: true },
        element('summary', { 'data-testid': 'linter' }),
        element('pre', { tabindex: 0, 'data-testid': 'payload' })
      )
    )
  }

  #fill(row, { decisions, push, states, fate, payload, findings }) {
    const part = (name) => row.querySelector(`.${name}`)
    const chips = decisions.map(({ outcome }) => [outcome.kind, outcomeText(outcome)])
    fill(part('outcomes'), chips, ([kind, text]) =>
      element('span', { class: 'outcome', 'data-kind': kind, 'data-testid': 'outcome' }, text)
    )
    const reasons = decisions.at(-1)?.reasons.map(({ code, words }) => `${code}: ${words}`) ?? []
    setText(part('reasons'), reasons.join(' · '))
    const steps = states.map((state) => [state, stateText(state, push)])
    fill(part('life'), steps, ([state, text]) => element('li', { 'data-state': state }, text))
    setText(part('summary'), [push && summary(push), fates[fate]].filter(Boolean).join(' '))
    part('payload').hidden = !payload
    if (!payload) return
    const text = JSON.stringify(payload, null, 2)
    setText(row.querySelector('pre'), text)
    const word = findings?.map(({ words }) => words).join('; ') || 'nothing to object to'
    setText(row.querySelector('summary'), `Payload · ${findings ? `linter: ${word}` : 'the linter is checking…'}`)
  }

  #name(user) {
    return this.#people.find((person) => person.user === user)?.name ?? user
  }

  #key(user) {
    return this.#name(user).toLowerCase()
  }
}

function outcomeText({ kind, level, until }) {
  if (until) return `${outcomes[kind]} until ${timeOfDay(until)}`
  return level && level !== 'active' ? `${outcomes[kind]}, ${level}` : outcomes[kind]
}

// The second sentence of the summary is the decision, which the view shows above.
function summary({ state, summary }) {
  const [first] = summary.split('. ')
  return { merged: 'One push announces it together with others.', sent: '', held: '' }[state] ?? `${first}.`
}

function stateText(state, { attempts, created, finished }) {
  const failed = attempts.filter(({ reason }) => reason)
  if (state === 'retrying' && failed.length) return `retrying: ${failed.length} × ${failed.at(-1).reason}`
  return state === 'sent' && finished - created < 1000 ? `sent within ${finished - created} ms` : state
}

/** Replaces the children of `parent` if the items have changed. */
function fill(parent, items, make) {
  const text = JSON.stringify(items)
  if (parent.dataset.items === text) return
  parent.dataset.items = text
  parent.replaceChildren(...items.map(make))
}

customElements.define('relay-view', RelayView)
