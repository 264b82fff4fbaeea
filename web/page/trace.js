// SPDX-License-Identifier: Apache-2.0
import { farther } from './conversation.js'

const limit = 20
/** The relay waits 45 s at most, and decides then. */
const longestWait = 60_000
const final = new Set(['sent', 'cancelled', 'expired', 'dead', 'merged'])

/**
 * What became of the newest 20 messages, newest first: {`seq`, `from`, `text`, `time`, `ends`}, where `ends` has, by
 * user, {`decisions`, `push`, `states`, `fate`, `payload`, `findings`}, each as the relay told it.
 */
export const noTraces = Object.freeze([])

/** The traces after one more input; those that concern none of them return `traces` itself. */
export function tracesAfter(traces, input) {
  switch (input.type) {
    case 'sent':
      if (traces.some(({ seq }) => seq === input.seq)) return traces
      return [begun(input), ...traces].slice(0, limit)
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

/** Whether there is nothing more to learn of a message's way to one person, `age` milliseconds after it was sent. */
export function isSettled({ push, decisions }, age) {
  if (push) return final.has(push.state)
  return age > longestWait || decisions.at(-1)?.outcome.kind === 'none'
}

function withEnd(traces, { seq, user }, change) {
  return traces.map((trace) => {
    if (trace.seq !== seq) return trace
    const end = trace.ends[user]
    return end ? { ...trace, ends: { ...trace.ends, [user]: change(end) } } : trace
  })
}

function begun({ seq, from, text, time, to }) {
  return { seq, from, text, time, ends: Object.fromEntries(to.map((user) => [user, { decisions: [], states: [] }])) }
}

// What is decided anew is shown beside what was decided before, when it differs.
function withDecision(end, decision) {
  const isKnown = gist(end.decisions.at(-1)) === gist(decision)
  return isKnown ? end : { ...end, decisions: [...end.decisions, decision].slice(-4) }
}

function gist(decision) {
  return decision && JSON.stringify([decision.outcome.kind, decision.reasons])
}

// `states` is the life of the job, each state when it was seen.
function withPush(end, push) {
  if (end.push && end.push.id !== push.id && end.push.created > push.created) return end
  const states = end.push?.id === push.id ? end.states : []
  return { ...end, push, states: states.at(-1) === push.state ? states : [...states, push.state] }
}
