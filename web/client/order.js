// SPDX-License-Identifier: Apache-2.0

/** How many messages wait for older ones before the relay is asked for all of them. */
const heldLimit = 300

/**
 * Where the app is in a room: everything up to `seq` of `epoch` was shown, and `held` are messages that came too early.
 * The next message that is shown is the first behind a gap when `isAfterGap`. Frozen, like all that follows from it.
 */
export const nowhere = Object.freeze({ epoch: null, seq: 0, held: Object.freeze([]), isAfterGap: false })

/** What `join` should name in `after`; undefined at the first join. */
export function position({ epoch, seq }) {
  return epoch === null ? undefined : { epoch, seq }
}

/**
 * The order after a reply to `join`: {`order`, `shown`, `reset`}. `shown` are the messages to show, in order; `reset` is
 * `epoch` or `gap` when the app has to begin anew with them.
 */
export function orderAfterJoin(order, { epoch, seq, recovered, messages = [] }) {
  const isContinued = order.epoch !== null && recovered === true && epoch === order.epoch
  const reset = order.epoch === null || isContinued ? undefined : epoch === order.epoch ? 'gap' : 'epoch'
  let last = isContinued ? order.seq : 0
  const fresh = messages.filter((message) => message?.seq > last && (last = message.seq))
  // The relay's word is final: what it does not give up to `seq`, there is not.
  const newest = Math.max(seq, last)
  const isAfterGap = order.isAfterGap || reset !== undefined
  return { ...shown({ ...nowhere, epoch, seq: newest, isAfterGap }, fresh), reset }
}

/** The order after a message: {`order`, `shown`}. What was shown already shows nothing; what is too new is held. */
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

/** Whether the relay has to be asked for what is missing; a send that is unanswered may be what is. */
export function hasGap({ held }, isSendUnanswered) {
  return held.length > (isSendUnanswered ? heldLimit : 0)
}

function shown(order, messages) {
  if (!order.isAfterGap || messages.length === 0) return { order: Object.freeze(order), shown: messages }
  const [first, ...rest] = messages
  return { order: Object.freeze({ ...order, isAfterGap: false }), shown: [{ ...first, isAfterGap: true }, ...rest] }
}
