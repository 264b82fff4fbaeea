// SPDX-License-Identifier: Apache-2.0

/**
 * A call as one device sees it. All functions here are pure. A call has these fields:
 *
 * - `phase`: `none`, `calling`, `ringing`, `talking` or `over`
 * - `room` and `seq`, which name the call, and the caller as `from`
 * - `until`: the end of the ringing
 * - `by` and `device`: the user and the device that caused the last change
 * - `end`, in the phase `over`: the state of the relay's call, or `answeredElsewhere` or `declinedElsewhere`
 */
export const noCall = Object.freeze({ phase: 'none' })

/** Returns true if the device cannot take another call. */
export function isBusy({ phase }) {
  return phase === 'calling' || phase === 'ringing' || phase === 'talking'
}

/** Returns true if both name the same call. */
export function isSameCall(one, other) {
  return one?.room !== undefined && one.room === other?.room && one.seq === other.seq
}

/**
 * Returns the call after an event `call`, or after a reply that reads the call (`event` is `read`). `me` is {`user`,
 * `device`}. Returns the same object if the input changes nothing.
 */
export function callAfter(call, input, me) {
  if (input.event === 'ring') return isSameCall(call, input) || isBusy(call) || input.muted ? call : begun(input, me)
  if (!isSameCall(call, input) || call.phase === 'over') return call
  if (input.event === 'read') return afterReading(call, input, me)
  const { user, device, event, state, ended } = input
  const isMine = user === me.user
  const isElsewhere = isMine && device !== undefined && device !== me.device
  const over = (end) => ({ ...call, phase: 'over', end, by: user, device })
  if (event === 'answer') {
    if (isElsewhere) return over('answeredElsewhere')
    return isMine || call.from === me.user ? { ...call, phase: 'talking', by: user, device } : call
  }
  if (event === 'decline' && isElsewhere) return over('declinedElsewhere')
  if (ended !== undefined) return over(state)
  if (isMine && (event === 'decline' || event === 'hangup')) return over(event === 'decline' ? 'declined' : 'ended')
  return call
}

/** The text of a call on a device of `me`. `nameOf` returns the name of a user. */
export function callText({ phase, from, end, by, device }, me, nameOf) {
  const isOwn = from === me.user
  const where = device && by === me.user ? `, on ${nameOf(by)}’s ${device}` : ''
  switch (phase) {
    case 'calling':
      return 'Calling…'
    case 'ringing':
      return 'Incoming call'
    case 'talking':
      return isOwn ? `${nameOf(by)} answered${device ? `, on the ${device}` : ''}` : 'In the call'
    case 'over':
      return {
        answeredElsewhere: `Answered elsewhere${where}`,
        declinedElsewhere: `Declined elsewhere${where}`,
        declined: by === me.user ? 'You declined' : `${by ? nameOf(by) : 'Everybody'} declined`,
        missed: isOwn ? 'Nobody answered' : `Missed call from ${nameOf(from)}`,
        cancelled: isOwn ? 'You cancelled the call' : `Missed call: ${nameOf(from)} hung up`,
        ended: !by ? 'Call ended' : by === me.user ? 'You hung up' : `${nameOf(by)} hung up`,
      }[end]
    default:
      return ''
  }
}

function begun({ room, seq, from, ringUntil }, me) {
  return { phase: from === me.user ? 'calling' : 'ringing', room, seq, from, until: ringUntil }
}

function afterReading(call, { state, ended, users }, me) {
  const own = users.find(({ user }) => user === me.user)
  const isElsewhere = own?.device !== undefined && own.device !== me.device
  const over = (end, by, device) => ({ ...call, phase: 'over', end, by, device })
  const isRinging = call.phase === 'ringing' && own !== undefined && own.state !== 'left'
  if (isElsewhere && isRinging) return over(`${own.state}Elsewhere`, own.user, own.device)
  if (own?.state === 'declined') return over('declined', own.user, own.device)
  if (ended !== undefined) return over(state)
  if (own?.state === 'left') return over('ended')
  if (own?.state === 'answered') return { ...call, phase: 'talking', by: own.user, device: own.device }
  const other = users.find(({ state }) => state === 'answered')
  const isAnswered = call.from === me.user && other
  return isAnswered ? { ...call, phase: 'talking', by: other.user, device: other.device } : call
}
