// SPDX-License-Identifier: Apache-2.0
// Puts the messages of a room in order, without gaps and duplicates. Pure functions. Depends on quote.js.
import { quoteAfter } from './quote.js'

/** Maximum number of messages that wait for a pending send. Beyond it the room is joined again. */
const heldLimit = 300

/**
 * The order of a room before its first join. An order has these fields:
 *
 * - `epoch`, `seq`: the app has all messages up to this position
 * - `held`: messages that arrived before a missing one
 * - `isAfterGap`: true if messages are missing before the next message
 *
 * All orders are frozen.
 */
export const nowhere = Object.freeze({ epoch: null, seq: 0, held: Object.freeze([]), isAfterGap: false })

/** The value of `after` in `join`. Is undefined at the first join. */
export function position({ epoch, seq }) {
  return epoch === null ? undefined : { epoch, seq }
}

/**
 * Returns the order after a reply to `join`: {`order`, `shown`, `reset`}. `shown` contains the messages to show, in
 * order. `reset` is `epoch` or `gap` if messages are missing before them.
 */
export function orderAfterJoin(order, { epoch, seq, recovered, messages }) {
  const isContinued = order.epoch !== null && recovered === true && epoch === order.epoch
  const reset = order.epoch === null || isContinued ? undefined : epoch === order.epoch ? 'gap' : 'epoch'
  let last = isContinued ? order.seq : 0
  const fresh = (Array.isArray(messages) ? messages : []).filter((message) => message?.seq > last && (last = message.seq))
  // The reply is complete: the room has no other messages up to `seq`.
  const newest = Math.max(seq, last)
  const isAfterGap = order.isAfterGap || reset !== undefined
  return { ...shown({ ...nowhere, epoch, seq: newest, isAfterGap }, fresh), reset }
}

/** Returns the order after a message: {`order`, `shown`}. Ignores duplicates, and holds a message after a gap. */
export function orderAfterMessage(order, message) {
  const { seq } = message
  if (seq <= order.seq || order.held.some((other) => other.seq === seq)) return { order, shown: [] }
  if (seq > order.seq + 1) return { order: { ...order, held: [...order.held, message] }, shown: [] }
  const ready = [message]
  let held = order.held
  if (held.length > 0) {
    held = [...held].sort((a, b) => a.seq - b.seq)
    while (held[0]?.seq === seq + ready.length) {
      ready.push(held[0])
      held = held.slice(1)
    }
  }
  return shown({ ...order, seq: seq + ready.length - 1, held }, ready)
}

/**
 * Returns the order after a change of a message, as an event of the room or of this client: held replies to the message
 * quote its new state.
 */
export function orderAfterChange(order, change) {
  if (!order.held.some(({ quote }) => quote?.seq === change.seq)) return order
  const held = order.held.map((message) => ({ ...message, quote: quoteAfter(message.quote, change) }))
  return Object.freeze({ ...order, held: Object.freeze(held) })
}

/** Returns true if the room must be joined again. A pending send may fill the gap, so the room waits for it. */
export function hasGap({ held }, isSendUnanswered) {
  return held.length > (isSendUnanswered ? heldLimit : 0)
}

function shown(order, messages) {
  if (!order.isAfterGap || messages.length === 0) return { order: Object.freeze(order), shown: messages }
  const [first, ...rest] = messages
  return { order: Object.freeze({ ...order, isAfterGap: false }), shown: [{ ...first, isAfterGap: true }, ...rest] }
}
