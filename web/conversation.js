// SPDX-License-Identifier: Apache-2.0

/**
 * One person's copy of a room: `messages` in seq order, `drafts` that the relay has not yet acknowledged, and
 * the `epoch` and `seq` of the newest that this copy contains.
 * `fates` says, by seq, how far one's own messages came.
 */
export const emptyConversation = Object.freeze({
  epoch: null,
  seq: 0,
  read: 0,
  messages: Object.freeze([]),
  drafts: Object.freeze([]),
  fates: Object.freeze({}),
})

/** How far a message came, from least to most. */
const fates = ['sent', 'waiting', 'push', 'failed', 'pushed', 'onPhone', 'received', 'read']

/** The conversation after one more input; inputs that bring nothing new return `conversation` itself. */
export function conversationAfter(conversation, input) {
  switch (input.type) {
    case 'joined':
      return joined(conversation, input.reply)
    case 'message':
      return withMessage(conversation, input)
    case 'edited':
    case 'deleted':
      return withChange(conversation, input)
    case 'composed':
      return { ...conversation, drafts: [...conversation.drafts, { ...input.draft, isFailed: false }] }
    case 'refused':
    case 'retried':
      return {
        ...conversation,
        drafts: conversation.drafts.map((draft) =>
          draft.key === input.key ? { ...draft, isFailed: input.type === 'refused' } : draft
        ),
      }
    case 'sent':
      return sent(conversation, input)
    case 'delivery':
      return withFate(conversation, input.seq, input.state)
    case 'receipt':
      return withReceipt(conversation, input)
    case 'read':
      return input.seq > conversation.read ? { ...conversation, read: input.seq } : conversation
    default:
      return conversation
  }
}

/** The text of a body, whatever its sender made of it. */
export function bodyText(body) {
  if (typeof body === 'string') return body
  if (typeof body?.text === 'string') return body.text
  return JSON.stringify(body)
}

function joined(conversation, reply) {
  const isContinued = reply.recovered === true
  const kept = isContinued ? conversation.messages : []
  const fresh = { ...conversation, messages: kept, fates: isContinued ? conversation.fates : {} }
  const merged = reply.messages.reduce(withMessage, fresh)
  return { ...merged, epoch: reply.epoch, seq: reply.seq, read: Math.max(reply.read, isContinued ? conversation.read : 0) }
}

function withMessage(conversation, message) {
  const { seq, from, time, body, deleted } = message
  const at = conversation.messages.findLastIndex((other) => other.seq <= seq)
  if (conversation.messages[at]?.seq === seq) return conversation
  const messages = conversation.messages.toSpliced(at + 1, 0, { seq, from, time, body, isDeleted: deleted === true })
  return { ...conversation, messages, seq: Math.max(conversation.seq, seq) }
}

function withChange(conversation, { type, seq, body }) {
  const change = type === 'deleted' ? { isDeleted: true, body: undefined } : { body }
  const messages = conversation.messages.map((other) => (other.seq === seq ? { ...other, ...change } : other))
  return { ...conversation, messages }
}

function sent(conversation, { key, from, reply }) {
  const draft = conversation.drafts.find((other) => other.key === key)
  if (!draft) return conversation
  const drafts = conversation.drafts.filter((other) => other !== draft)
  const { seq, time } = reply
  const stored = withMessage({ ...conversation, drafts }, { seq, from, time, body: draft.body })
  const { waiting = 0, push = 0 } = reply.delivery ?? {}
  return withFate(stored, seq, waiting > 0 ? 'waiting' : push > 0 ? 'push' : 'sent')
}

function withFate(conversation, seq, fate) {
  const known = conversation.fates[seq]
  if (fates.indexOf(fate) <= fates.indexOf(known)) return conversation
  return { ...conversation, fates: { ...conversation.fates, [seq]: fate } }
}

// Receipts are cumulative: one for 7 covers everything before it.
function withReceipt(conversation, { seq, kind }) {
  return conversation.messages
    .filter((message) => message.seq <= seq)
    .reduce((state, message) => withFate(state, message.seq, kind), conversation)
}
