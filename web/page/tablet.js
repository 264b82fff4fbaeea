// SPDX-License-Identifier: Apache-2.0
import { Stillwire } from '../client/stillwire.js'
import { call, segment } from './api.js'
import { isBusy } from './call-state.js'
import { DeviceCalls } from './device-calls.js'
import { standing } from './focus.js'
import { intentOf } from './ios.js'
import { PushFeed } from './push-feed.js'

/**
 * The second device of a person. It has no session while it sleeps. The push of a call wakes it: it then connects, and
 * its session gets the events of the call. It dispatches `change`. The person dispatches its frames as `wire`.
 */
export class Tablet extends EventTarget {
  me
  calls
  #person
  #relay
  #feed

  constructor(person, url) {
    super()
    const { user, name } = person
    this.#person = person
    this.me = { user, device: 'tablet' }
    this.#relay = new Stillwire(url, { hello: { user, name, device: 'tablet' } })
    // The person does not use an app on the tablet, so the phone still gets pushes.
    this.#relay.setActivity('background')
    this.calls = new DeviceCalls(this.#relay, this.me, {
      now: () => person.now,
      isLetThrough: () => true,
      send: (request, { room, seq }) =>
        call('POST', `v1/rooms/${segment(room)}/calls/${seq}/${request}`, { user, body: { device: 'tablet' } }),
      changed: () => this.#changed(),
      complain: (detail) => person.dispatchEvent(new CustomEvent('complaint', { detail })),
    })
    const wire = (kind, name, text, answers) =>
      person.dispatchEvent(new CustomEvent('wire', { detail: { kind, name, text, answers } }))
    this.#relay.addEventListener('frame', ({ detail: { isOwn, text, frame, answers } }) =>
      wire(isOwn ? 'sent' : 'received', frame.type, text, answers)
    )
    this.#relay.addEventListener('state', () => this.#changed())
    const arrived = (push) => this.#arrived(push)
    this.#feed = new PushFeed(this.#token, arrived, ({ notifications }) => notifications.forEach(arrived))
  }

  get isAwake() {
    return this.#relay.state === 'open'
  }

  /** Registers the tablet, and waits for pushes. Rejects if the relay refuses the tablet. */
  async start() {
    const path = `v1/users/${segment(this.me.user)}/devices/tablet`
    await call('PUT', path, { user: this.me.user, body: { platform: 'simulator', token: this.#token } })
    this.#feed.follow(true)
  }

  /** Marks all messages as read, as an app on this device does. */
  async readAll() {
    const { user } = this.me
    const { rooms } = await call('GET', `v1/users/${segment(user)}/rooms`, { user })
    const unread = rooms.filter((entry) => entry.unread > 0)
    const read = ({ room, lastMessage: { seq } }) =>
      call('PUT', `v1/rooms/${segment(room)}/read`, { user, body: { seq } })
    await Promise.all(unread.map(read))
  }

  setReachable(isReachable) {
    const path = `v1/simulator/devices/${this.#token}`
    return call('PUT', path, { user: this.me.user, body: { isReachable }, keepalive: true })
  }

  get #token() {
    return `${this.me.user}-tablet`
  }

  #arrived({ payload, headers }) {
    const intent = intentOf(payload, true)
    if (intent?.kind !== 'call' || !payload.aps?.alert) return
    const { room, seq } = payload.message
    const until = 1000 * headers['apns-expiration']
    // A passive push replaces the alert of a call that is over. The session gets the end of the call itself.
    if (payload.aps['interruption-level'] === 'passive') return
    if (until <= this.#person.now || this.calls.knows({ room, seq })) return
    if (standing(payload, intent, this.#person.focus).isQuiet) return
    this.calls.take({ event: 'ring', room, seq, from: intent.sender.id, ringUntil: until })
    this.#relay.connect()
  }

  #changed() {
    if (!isBusy(this.calls.call) && this.#relay.state !== 'closed') this.#relay.close()
    this.dispatchEvent(new CustomEvent('change'))
  }
}
