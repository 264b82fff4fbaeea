// SPDX-License-Identifier: Apache-2.0
import { quoteAfter } from '../client/stillwire.js'

/**
 * One person's copy of a room. All functions here are pure. A conversation has these fields:
 *
 * - `messages` in the order of the room, and `drafts` that the relay has not yet acknowledged. Replies have a `quote`
 * - `read`: the seq of the newest read message
 * - `fates`: by seq, the delivery state of the person's own messages
 * - `responses`: by seq, the responses that people gave to them from their phones
 * - `calls`: by seq, the state of each call: {`state`, `from`, `user`, `device`}, with the person who answered
 */
export const emptyConversation = Object.freeze({
  epoch: null,
  read: 0,
  messages: Object.freeze([]),
  drafts: Object.freeze([]),
  fates: Object.freeze({}),
  responses: Object.freeze({}),
  calls: Object.freeze({}),
})

/** The delivery states of a message, in their order. */
const ranks = ['sent', 'waiting', 'push', 'failed', 'pushed', 'onPhone', 'received', 'read']

/** Returns the conversation after one more input. Returns the same object if the input changes nothing. */
export function conversationAfter(conversation, input) {
  const { messages, drafts } = conversation
  switch (input.type) {
    case 'joined':
      return { ...conversation, epoch: input.reply.epoch, read: Math.max(input.reply.read, conversation.read) }
    case 'reset':
      return { ...emptyConversation, drafts }
    case 'message': {
      const { seq, from, time, body, quote, deleted } = input
      return { ...conversation, messages: [...messages, { seq, from, time, body, quote, isDeleted: deleted === true }] }
    }
    case 'edited':
    case 'deleted': {
      const isDeleted = input.type === 'deleted'
      const change = isDeleted ? { isDeleted, body: undefined, quote: undefined } : { body: input.body }
      const changed = messages.map((other) => (other.seq === input.seq ? { ...other, ...change } : other))
      return { ...conversation, messages: changed.map(requoted(input)), drafts: drafts.map(requoted(input)) }
    }
    case 'composed':
      return { ...conversation, drafts: [...drafts, { ...input.draft, isFailed: false }] }
    case 'refused':
    case 'retried': {
      const isFailed = input.type === 'refused'
      const changed = drafts.map((draft) => (draft.key === input.key ? { ...draft, isFailed } : draft))
      return { ...conversation, drafts: changed }
    }
    case 'sent': {
      const { waiting = 0, push = 0 } = input.reply.delivery ?? {}
      const left = { ...conversation, drafts: drafts.filter(({ key }) => key !== input.key) }
      return withFate(left, input.reply.seq, waiting > 0 ? 'waiting' : push > 0 ? 'push' : 'sent')
    }
    case 'delivery':
      return withFate(conversation, input.seq, input.state)
    case 'receipt':
      // A receipt covers all messages up to its seq.
      return messages
        .filter(({ seq }) => seq <= input.seq)
        .reduce((state, { seq }) => withFate(state, seq, input.kind), conversation)
    case 'call':
      return withCall(conversation, input.call)
    case 'response':
      return withResponse(conversation, input)
    case 'read':
      return input.seq > conversation.read ? { ...conversation, read: input.seq } : conversation
    default:
      return conversation
  }
}

/** The text of a body. The body may have any form. */
export function bodyText(body) {
  if (typeof body === 'string') return body
  if (typeof body?.text === 'string') return body.text
  return JSON.stringify(body) ?? ''
}

/** The quote of a message, as the relay makes it. Is undefined for a deleted message. */
export function quoteOf({ seq, from, body, isDeleted }) {
  return isDeleted ? undefined : quoteAfter({ seq, from, preview: '' }, { type: 'edited', seq, body })
}

/** The text of a quote. The quoted message may have no text. */
export function quoteText({ preview, deleted }) {
  return deleted ? 'Message deleted' : (preview ?? 'A message without a text')
}

/** Returns the later one of two delivery states. */
export function farther(one, other) {
  return ranks.indexOf(other) > ranks.indexOf(one) ? other : one
}

function requoted(event) {
  return (message) => (message.quote ? { ...message, quote: quoteAfter(message.quote, event) } : message)
}

function withFate(conversation, seq, fate) {
  const known = conversation.fates[seq]
  const newest = farther(known, fate)
  return newest === known ? conversation : { ...conversation, fates: { ...conversation.fates, [seq]: newest } }
}

// Events name the user who has caused the change. A reply has all users.
function withCall(conversation, { seq, from, state, event, user, device, users }) {
  const known = conversation.calls[seq]
  const answer = event === 'answer' ? { user, device } : users?.find((one) => one.state === 'answered')
  const call = { state, from, user: answer?.user ?? known?.user, device: answer?.device ?? known?.device }
  return { ...conversation, calls: { ...conversation.calls, [seq]: call } }
}

// The relay repeats an event that it could not deliver with certainty, so a known response is ignored.
function withResponse(conversation, { seq, user, text }) {
  const known = conversation.responses[seq] ?? []
  if (known.some((other) => other.user === user)) return conversation
  return { ...conversation, responses: { ...conversation.responses, [seq]: [...known, { user, text }] } }
}
