// SPDX-License-Identifier: Apache-2.0
// The calls of one device. call-state.js has their state.
import { callAfter, isBusy, isSameCall, noCall } from './call-state.js'

/** The time in milliseconds, after the ringing, for the relay's event. Without a session no event arrives. */
const grace = 1_500

/** The time in milliseconds for which an adopted call rings. */
const adoptedRinging = 15_000

/** Follows the event `call` of a session, and answers, declines and ends the call of its device. */
export class DeviceCalls {
  call = noCall
  #relay
  #me
  #options
  #timer = 0
  /** The newest calls that this device knows, so that a push does not make it ring for them again. */
  #known = []

  /**
   * `me` is {`user`, `device`}. `now()` returns the relay's time. `isLetThrough(call)` returns true if the device may
   * ring. `send(request, call)` sends a request without a session. `changed()` and `complain(text)` report to the
   * owner.
   */
  constructor(relay, me, options) {
    this.#relay = relay
    this.#me = me
    this.#options = options
    relay.addEventListener('call', ({ detail }) => this.take(detail))
    relay.addEventListener('welcome', () => this.#read())
  }

  /** Applies an event `call`, or a push as such an event. */
  take(input) {
    const isIncoming = input.event === 'ring' && input.from !== this.#me.user
    if (isIncoming && !this.#options.isLetThrough(input)) return
    this.#become(callAfter(this.call, input, this.#me))
  }

  /** Takes a call that its Focus has silenced, so that the person can answer it. */
  adopt({ room, seq, from }) {
    this.#become({ phase: 'ringing', room, seq, from, until: this.#options.now() + adoptedRinging })
  }

  /** Returns true if this device has already shown the call. */
  knows(name) {
    return this.#known.some((other) => isSameCall(other, name))
  }

  /** Rings for all members of a room. Resolves with the reply, or with undefined if the request failed. */
  async ring(room, options) {
    const reply = await this.#try(() => this.#relay.ring(room, options))
    if (!reply) return undefined
    // This ring may have answered the call of another member. Then the call does not ring any more.
    this.take({ ...reply, event: 'ring' })
    this.take({ ...reply, event: 'read' })
    return reply
  }

  /** Sends `answer`, `decline` or `hangup` for the current call. */
  async act(request) {
    const { room, seq } = this.call
    const method = { answer: 'answer', decline: 'decline', hangup: 'hangUp' }[request]
    const isOpen = this.#relay.state === 'open'
    const reply = await this.#try(() =>
      isOpen ? this.#relay[method]({ room, seq }) : this.#options.send(request, { room, seq })
    )
    if (!reply) return isOpen ? this.#read() : this.dismiss()
    // The reply can come before the event, and without a session there is no event.
    this.take({ ...reply, event: request, ...this.#me })
  }

  /** Removes the call from the screen. */
  dismiss() {
    this.#become(noCall)
  }

  // Reads the call, because its events may be lost.
  async #read() {
    if (!isBusy(this.call) || this.#relay.state !== 'open') return
    const reply = await this.#relay.call(this.call).catch(() => null)
    if (reply) this.take({ ...reply, event: 'read' })
  }

  async #try(act) {
    try {
      return await act()
    } catch (error) {
      if (error.code !== 'conflict') this.#options.complain(`The call failed: ${error.message}`)
      return undefined
    }
  }

  #become(call) {
    if (call === this.call) return
    this.call = call
    if (call.phase !== 'none' && !this.knows(call)) this.#known = [...this.#known, call].slice(-50)
    clearTimeout(this.#timer)
    if (call.phase === 'ringing') {
      const late = () => this.#become({ ...call, phase: 'over', end: 'missed' })
      this.#timer = setTimeout(late, Math.max(0, call.until - this.#options.now()) + grace)
    }
    this.#options.changed()
  }
}
