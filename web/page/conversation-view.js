// SPDX-License-Identifier: Apache-2.0
// Draws the open app of a person.
import { isSilenced } from '../client/stillwire.js'
import { timeOfDay } from './clock.js'
import { bodyText, quoteOf, quoteText } from './conversation.js'
import { arrange, avatar, element, setText } from './dom.js'
import { countOf, openTitle } from './inbox-view.js'
import { presenceText } from './presence-text.js'

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

const callStates = {
  ringing: 'Ringing…',
  answered: 'Answered',
  declined: 'Declined',
  missed: 'Missed',
  cancelled: 'Cancelled before an answer',
  ended: 'Ended · answered',
}

/** The button of each message. Screen readers do not read it together with a new message. */
const replyButton = { type: 'button', class: 'reply', 'data-testid': 'reply', 'aria-live': 'off' }

/** The messages of the special buttons, with a text that is used if the composer is empty. */
const specials = {
  urgent: { text: 'Can you come at once?', push: { level: 'timeSensitive', category: 'demo.message' } },
  invite: { text: 'Dinner on Friday?', push: { category: 'demo.invitation' } },
}

/** The open app: the other people, the messages, the notice about silenced people, and the composer. */
export class ConversationView {
  #person
  #parts
  #nodes = new Map()
  #room = null
  /** The seq of the message that the next one answers, or null. */
  #answered = null

  /** `parts` finds an element of this person's panel by its `data-part`. Calls `back` to show the list of rooms. */
  constructor(person, parts, back) {
    this.#person = person
    this.#parts = parts
    parts('back').addEventListener('click', back)
    parts('ring').addEventListener('click', () => person.ring())
    this.#prepareRename()
    parts('messages').setAttribute('aria-label', `${person.name}’s conversation`)
    parts('text').setAttribute('aria-label', `Message from ${person.name}`)
    parts('send').setAttribute('aria-label', `Send as ${person.name}`)
    parts('text').addEventListener('input', () => person.typing(parts('text').value !== ''))
    parts('composer').addEventListener('submit', (event) => this.#submit(event))
    parts('anyway').addEventListener('click', () => {
      person.notifyAnyway(person.quietSeq)
      // The button disappears, so the keyboard focus moves to the composer.
      parts('text').focus({ preventScroll: true })
    })
    for (const [name, { text, push }] of Object.entries(specials)) {
      parts(name).addEventListener('click', () => this.#say(this.#taken() || text, push))
    }
    parts('messages').addEventListener('click', ({ target }) => {
      const { key, seq } = target.closest('button')?.dataset ?? {}
      if (key) person.retry(key)
      if (seq) this.#answer(Number(seq))
    })
    parts('no-reply').addEventListener('click', () => this.#answer(null))
  }

  render(now) {
    const { others, typists, quietSeq, room } = this.#person
    if (room === null) return
    if (room !== this.#room) this.#begin(room)
    this.#renderTitle()
    const names = others.map(({ user }) => this.#person.nameOf(user)).join(', ')
    const line = this.#parts('peer-presence')
    line.dataset.online = String(others.length > 0 && others.every(({ online }) => online))
    const isGroup = others.length > 1
    setText(line, isGroup ? others.map((other) => this.#brief(other)).join(' · ') : presenceText(others[0], now))
    const faces = this.#parts('peer-avatar')
    if (faces.dataset.names !== names) {
      faces.dataset.names = names
      faces.replaceChildren(...others.map(({ user }) => avatar(this.#person.nameOf(user))))
      this.#parts('text').placeholder = `Message ${names}`
    }
    const silenced = others.filter(isSilenced).map(({ user }) => this.#person.nameOf(user))
    this.#parts('notice').hidden = silenced.length === 0
    const verb = silenced.length > 1 ? 'have' : 'has'
    setText(this.#parts('notice-text'), `${silenced.join(' and ')} ${verb} notifications silenced`)
    this.#parts('anyway').hidden = quietSeq === null
    this.#parts('typing').hidden = typists.size === 0
    setText(this.#parts('typing-text'), `${[...typists].map((user) => this.#person.nameOf(user)).join(', ')} typing`)
    this.#renderReply()
    this.#renderMessages(isGroup)
  }

  // The new room has other messages, and the unsent text belongs to the old one.
  #begin(room) {
    this.#room = room
    this.#nodes.clear()
    this.#parts('messages').replaceChildren()
    this.#parts('text').value = ''
    this.#answered = null
    this.#showRename(false)
  }

  /** The quote of the next message. Is undefined if it answers no message, or one that was deleted meanwhile. */
  get #quote() {
    const message = this.#person.conversation.messages.find(({ seq }) => seq === this.#answered)
    return message && quoteOf(message)
  }

  #answer(seq) {
    this.#answered = seq
    this.#renderReply()
    this.#parts('text').focus({ preventScroll: true })
  }

  #renderReply() {
    const quote = this.#quote
    this.#parts('replying').hidden = !quote
    if (quote) setText(this.#parts('replying-text'), `Reply to ${this.#quoteLine(quote)}`)
  }

  #quoteLine(quote) {
    return `${this.#person.nameOf(quote.from)}: ${quoteText(quote)}`
  }

  #renderTitle() {
    const { unread, invitations, roomEntry, room } = this.#person
    const isDirect = roomEntry?.kind === 'direct'
    setText(this.#parts('peer-name'), openTitle(room, this.#person))
    this.#parts('rename').hidden = isDirect || !this.#parts('rename-form').hidden
    const waiting = [unread && `${unread} unread`, countOf(invitations.length, 'invitation')].filter(Boolean)
    setText(this.#parts('back-count'), String(unread + invitations.length || ''))
    this.#parts('back').setAttribute('aria-label', ['Rooms', ...waiting].join(', '))
  }

  #prepareRename() {
    const title = this.#parts('title')
    this.#parts('rename').addEventListener('click', () => {
      title.value = this.#person.roomEntry?.title ?? ''
      this.#showRename(true)
      title.focus({ preventScroll: true })
    })
    this.#parts('rename-form').addEventListener('submit', (event) => {
      event.preventDefault()
      if (title.value.trim()) this.#person.rename(title.value.trim())
      this.#endRename()
    })
    title.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#endRename())
  }

  #endRename() {
    this.#showRename(false)
    this.#parts('rename').focus({ preventScroll: true })
  }

  #showRename(isShown) {
    this.#parts('rename-form').hidden = !isShown
    this.#parts('rename').hidden = isShown
    this.#parts('peer-text').hidden = isShown
  }

  #brief({ user, online }) {
    return `${this.#person.nameOf(user)} ${online ? 'online' : 'away'}`
  }

  /** Returns the text of the composer, and empties it. */
  #taken() {
    const text = this.#parts('text').value.trim()
    this.#parts('text').value = ''
    return text
  }

  #submit(event) {
    event.preventDefault()
    const text = this.#taken()
    if (text) this.#say(text)
  }

  #say(text, push) {
    const quote = this.#quote
    this.#answered = null
    this.#renderReply()
    this.#person.say(text, push, quote)
  }

  #renderMessages(isGroup) {
    const list = this.#parts('messages')
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 48
    const { conversation, user } = this.#person
    const { messages, drafts, fates, responses, calls } = conversation
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
        rows.push(node(`time ${message.time}`, () => element('p', { class: 'moment', 'aria-live': 'off' }, timeOfDay(message.time))))
      }
      const key = message.isDraft ? `draft ${message.key}` : `seq ${message.seq}`
      const row = node(key, () => this.#row(message, isGroup))
      row.classList.toggle('is-last', all[at + 1]?.from !== message.from)
      setText(row.querySelector('.bubble'), message.isDeleted ? 'Message deleted' : bodyText(message.body))
      row.classList.toggle('is-deleted', message.isDeleted === true)
      const quote = row.querySelector('.quote')
      quote.hidden = !message.quote
      if (message.quote) setText(quote, this.#quoteLine(message.quote))
      rows.push(row)
      for (const { user, text } of responses[message.seq] ?? []) {
        const line = `${this.#person.nameOf(user)} ${text}`
        rows.push(node(`${key} ${user}`, () => element('p', { class: 'moment', 'data-testid': 'response' }, line)))
      }
      if (calls[message.seq]) {
        const line = node(`${key} call`, () => element('p', { class: 'moment', 'data-testid': 'call-line' }))
        setText(line, this.#callLine(calls[message.seq]))
        rows.push(line)
      }
      if (message.isDraft) rows.push(node(`${key} ${message.isFailed}`, () => draftState(message)))
      // The page does not know the state of messages from before it was opened.
      if (message === newestOwn && fates[message.seq]) {
        const fate = node('fate', () => element('p', { class: 'fate', 'aria-live': 'off', 'data-testid': 'fate' }))
        setText(fate, fateTexts[fates[message.seq]])
        rows.push(fate)
      }
    })
    for (const key of this.#nodes.keys()) if (!seen.has(key)) this.#nodes.delete(key)
    const isLonger = rows.length > list.children.length
    arrange(list, rows)
    if (isAtEnd || (isLonger && all.at(-1)?.from === user)) list.scrollTop = list.scrollHeight
  }

  #callLine({ state, user, device }) {
    const by = user ? ` by ${this.#person.nameOf(user)}${device ? `, on the ${device}` : ''}` : ''
    return state === 'answered' || state === 'ended' ? `${callStates[state]}${by}` : callStates[state]
  }

  #row({ seq, from, time, isDraft }, isGroup) {
    const isOwn = from === this.#person.user
    const author = `${this.#person.nameOf(from)}: `
    return element(
      'div',
      {
        class: `message ${isOwn ? 'is-own' : 'is-theirs'}${isDraft ? ' is-draft' : ''}`,
        'data-testid': 'message',
        'data-seq': seq ?? null,
        title: timeOfDay(time),
      },
      element('span', { class: isGroup && !isOwn ? 'author' : 'visually-hidden' }, author),
      element('p', { class: 'quote', dir: 'auto', 'data-testid': 'quote', hidden: true }),
      element('p', { class: 'bubble', dir: 'auto', 'data-testid': 'message-text' }),
      isDraft ? null : element('button', { ...replyButton, 'data-seq': seq }, 'Reply')
    )
  }
}

function draftState({ key, isFailed }) {
  if (!isFailed) return element('p', { class: 'fate', 'aria-live': 'off' }, 'Sending…')
  const retry = element('button', { type: 'button', 'data-key': key }, 'Try again')
  return element('p', { class: 'fate is-failed' }, 'Not sent · ', retry)
}
