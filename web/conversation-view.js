// SPDX-License-Identifier: Apache-2.0
import { timeOfDay } from './clock.js'
import { bodyText } from './conversation.js'
import { arrange, avatar, element, setText } from './dom.js'
import { isSilenced, presenceText } from './presence.js'

const pause = 15 * 60_000
const fateTexts = {
  sent: 'Sent',
  waiting: 'Sent · waiting before a push',
  push: 'Sent · on its way to the phone',
  failed: 'Sent · the phone could not be reached',
  pushed: 'Pushed to the phone',
  onPhone: 'On the phone',
  received: 'Delivered',
  read: 'Read',
}

/** The open app: the peer, the messages, the notice about their Focus, and the composer. */
export class ConversationView {
  #person
  #parts
  #nodes = new Map()

  /** `parts` finds an element of this person's panel by its `data-part`. */
  constructor(person, peerName, parts) {
    this.#person = person
    this.#parts = parts
    parts('peer-avatar').replaceWith(avatar(peerName))
    parts('peer-name').textContent = peerName
    parts('messages').setAttribute('aria-label', `${person.name}’s conversation with ${peerName}`)
    parts('notice-text').textContent = `${peerName} has notifications silenced`
    parts('typing-text').textContent = `${peerName} is typing`
    parts('text').setAttribute('aria-label', `Message from ${person.name} to ${peerName}`)
    parts('text').placeholder = `Message ${peerName}`
    parts('send').setAttribute('aria-label', `Send as ${person.name}`)
    parts('text').addEventListener('input', () => person.typing(parts('text').value !== ''))
    parts('composer').addEventListener('submit', (event) => this.#submit(event))
    parts('anyway').addEventListener('click', () => person.notifyAnyway(person.quietSeq))
    parts('messages').addEventListener('click', ({ target }) => {
      const key = target.closest('button')?.dataset.key
      if (key) person.retry(key)
    })
  }

  render(now) {
    const { presence, peer, isPeerTyping, quietSeq } = this.#person
    const entry = presence[peer]
    const line = this.#parts('peer-presence')
    line.dataset.online = String(entry?.online === true)
    setText(line, presenceText(entry, now))
    this.#parts('notice').hidden = !isSilenced(entry)
    this.#parts('anyway').hidden = quietSeq === null
    this.#parts('typing').hidden = !isPeerTyping
    this.#renderMessages()
  }

  #submit(event) {
    event.preventDefault()
    const field = this.#parts('text')
    const text = field.value.trim()
    field.value = ''
    if (text) this.#person.say(text)
  }

  #renderMessages() {
    const list = this.#parts('messages')
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 48
    const { conversation, user } = this.#person
    const { messages, drafts, fates } = conversation
    const all = [...messages, ...drafts.map((draft) => ({ ...draft, from: user, isDraft: true }))]
    const newestOwn = messages.findLast(({ from }) => from === user)
    const seen = new Set()
    const node = (key, make) => {
      seen.add(key)
      if (!this.#nodes.has(key)) this.#nodes.set(key, make())
      return this.#nodes.get(key)
    }
    const rows = []
    all.forEach((message, at) => {
      const previous = all[at - 1]
      if (!previous || message.time - previous.time > pause) {
        rows.push(node(`time ${message.time}`, () => element('p', { class: 'moment' }, timeOfDay(message.time))))
      }
      const key = message.isDraft ? `draft ${message.key}` : `seq ${message.seq}`
      const row = node(key, () => this.#row(message))
      row.classList.toggle('is-last', all[at + 1]?.from !== message.from)
      setText(row.querySelector('.bubble'), message.isDeleted ? 'Message deleted' : bodyText(message.body))
      row.classList.toggle('is-deleted', message.isDeleted === true)
      rows.push(row)
      if (message.isDraft) rows.push(node(`${key} ${message.isFailed}`, () => draftState(message)))
      if (message === newestOwn) {
        const fate = node('fate', () => element('p', { class: 'fate', 'data-testid': 'fate' }))
        setText(fate, fateTexts[fates[message.seq] ?? 'sent'])
        rows.push(fate)
      }
    })
    for (const key of this.#nodes.keys()) if (!seen.has(key)) this.#nodes.delete(key)
    const isLonger = rows.length > list.children.length
    arrange(list, rows)
    if (isAtEnd || (isLonger && rows.at(-1)?.classList.contains('is-own'))) list.scrollTop = list.scrollHeight
  }

  #row({ seq, from, time, isDraft }) {
    const isOwn = from === this.#person.user
    const author = isOwn ? this.#person.name : (this.#person.presence[from]?.name ?? from)
    return element(
      'div',
      {
        class: `message ${isOwn ? 'is-own' : 'is-theirs'}${isDraft ? ' is-draft' : ''}`,
        'data-testid': 'message',
        'data-seq': seq ?? null,
        title: timeOfDay(time),
      },
      element('span', { class: 'visually-hidden' }, `${author}: `),
      element('p', { class: 'bubble', dir: 'auto', 'data-testid': 'message-text' })
    )
  }
}

function draftState({ key, isFailed }) {
  if (!isFailed) return element('p', { class: 'fate' }, 'Sending…')
  return element('p', { class: 'fate is-failed' }, 'Not sent · ', element('button', { type: 'button', 'data-key': key }, 'Try again'))
}
