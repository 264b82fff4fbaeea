// SPDX-License-Identifier: Apache-2.0
// The state of the relay's view, as pure functions.
import { farther } from './conversation.js'

const limit = 20
/** Maximum time until a decision, in milliseconds. The relay waits at most 45 s. */
const maxWait = 60_000
const final = new Set(['sent', 'cancelled', 'expired', 'dead', 'merged'])

/**
 * The traces of the newest 20 messages, newest first: {`room`, `seq`, `from`, `text`, `time`, `ends`}. Inputs name a
 * message by `room` and `seq`. `ends` has the relay's
 * data for each recipient, by user: {`decisions`, `push`, `states`, `fate`, `payload`, `findings`}.
 */
export const noTraces = Object.freeze([])

/** Returns the traces after one more input. Ignores unknown inputs. */
export function tracesAfter(traces, input) {
  switch (input.type) {
    case 'sent':
      if (traceOf(traces, input)) return traces
      return [begun(input), ...traces].slice(0, limit)
    case 'excluded':
      return withoutEnd(traces, input)
    case 'decided':
      return withEnd(traces, input, (end) => withDecision(end, input.decision))
    case 'pushed':
      return withEnd(traces, input, (end) => withPush(end, input.push))
    case 'fate':
      return withEnd(traces, input, (end) => ({ ...end, fate: farther(end.fate, input.state) }))
    case 'delivered':
      return withEnd(traces, input, (end) => ({ ...end, payload: input.payload }))
    case 'linted':
      return withEnd(traces, input, (end) => ({ ...end, findings: input.findings }))
    default:
      return traces
  }
}

/** The trace of a message, which `room` and `seq` name. */
export function traceOf(traces, { room, seq }) {
  return traces.find((trace) => trace.room === room && trace.seq === seq)
}

/** Returns true if the delivery to one person is final. `age` is the age of the message in milliseconds. */
export function isSettled({ push, decisions }, age) {
  if (push) return final.has(push.state)
  return age > maxWait || decisions.at(-1)?.outcome.kind === 'none'
}

function withEnd(traces, { room, seq, user }, change) {
  return traces.map((trace) => {
    if (trace.room !== room || trace.seq !== seq) return trace
    const end = trace.ends[user]
    return end ? { ...trace, ends: { ...trace.ends, [user]: change(end) } } : trace
  })
}

// The user is no member of the room.
function withoutEnd(traces, { room, seq, user }) {
  const known = traceOf(traces, { room, seq })
  const ends = Object.entries(known?.ends ?? {}).filter(([other]) => other !== user)
  return traces.map((trace) => (trace === known ? { ...trace, ends: Object.fromEntries(ends) } : trace))
}

function begun({ room, seq, from, text, time, to }) {
  return { room, seq, from, text, time, ends: Object.fromEntries(to.map((user) => [user, { decisions: [], states: [] }])) }
}

// A later decision is added if it differs from the last one.
function withDecision(end, decision) {
  const isKnown = gist(end.decisions.at(-1)) === gist(decision)
  return isKnown ? end : { ...end, decisions: [...end.decisions, decision].slice(-4) }
}

function gist(decision) {
  return decision && JSON.stringify([decision.outcome.kind, decision.reasons])
}

// `states` contains the states of the job, in the order in which the page saw them.
function withPush(end, push) {
  if (end.push && end.push.id !== push.id && end.push.created > push.created) return end
  const states = end.push?.id === push.id ? end.states : []
  return { ...end, push, states: states.at(-1) === push.state ? states : [...states, push.state] }
}
