// SPDX-License-Identifier: Apache-2.0
// The JavaScript app of Tests/Conformance, whose README.md describes the commands and the output. Depends on
// web/client/stillwire.js.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { Reporter, Stillwire } from '../../../web/client/stillwire.js'
import { StillClock } from './still-clock.js'

const WebSocket = globalThis.WebSocket ?? createRequire(import.meta.url)('/usr/share/nodejs/ws')
const [addresses, given = '{}'] = process.argv.slice(2)
const urls = addresses.split(' ')
const { tokens, hello, random = [0], timeout, outbox, clock: kind = 'still' } = JSON.parse(given)
const clock = kind === 'still' ? new StillClock() : undefined

const tell = (app, detail) => process.stdout.write(`${JSON.stringify({ app, ...detail })}\n`)
const inTurn = (values) => {
  let next = 0
  return () => values[next++ % values.length]
}

let asked = 0
// The calls of the token function that wait for the command `token`, with `tokens` of 'ask'.
const asking = []
async function token({ isExpired }) {
  tell('token', { isExpired })
  const value = tokens === 'ask'
    ? await new Promise((resolve) => asking.push(resolve))
    : tokens[Math.min(asked++, tokens.length - 1)]
  if (value === null) throw new Error('no token available')
  return value
}

const relay = new Stillwire(urls.length > 1 ? urls : urls[0], {
  WebSocket, clock, hello, timeout, outbox, random: inTurn(random), token: tokens ? token : undefined,
  // With one address, the client would refuse to reconnect after some answers that the cases retry.
  fetch: urls.length > 1 ? globalThis.fetch : null,
})
relay.addEventListener('state', ({ detail }) => tell('state', detail))
relay.addEventListener('presence', ({ detail }) => tell('person', detail))
relay.addEventListener('call', ({ detail }) => tell('call', detail))
relay.addEventListener('inbox', ({ detail }) => tell('inbox', detail))
relay.addEventListener('invitation', ({ detail }) => tell('invitation', detail))
let invitationCount = 0
relay.addEventListener('welcome', ({ detail }) => (invitationCount = detail.invitations ?? 0))
relay.addEventListener('response', ({ detail }) => tell('response', detail))
relay.addEventListener('error', ({ detail }) => {
  // While the client waits, this is the reason of a failed handshake, which only this client reports.
  if (relay.state !== 'waiting') tell('error', detail)
})

const known = new Map()
function room(name, options) {
  if (!known.has(name)) {
    const made = relay.room(name, options)
    known.set(name, made)
    const events = 'joined reset left message edited deleted reactions pinned signal receipt delivery member counts room presence'
    for (const type of events.split(' ')) {
      made.addEventListener(type, ({ detail }) => tell(type, { room: name, ...detail }))
    }
  }
  return known.get(name)
}

const failed = (tag) => ({ code, retryAfter, until }) =>
  tell('failed', { tag, code, retryAfter: retryAfter || undefined, until })
const replied = (tag) => (reply) => tell('replied', { tag, reply })
const iterations = new Map()
// Waits until all promises and socket events that are due now have been processed.
const settle = async () => {
  for (let turn = 0; turn < 4; turn += 1) await setImmediate()
}

const commands = {
  connect: () => relay.connect(),
  close: () => relay.close(),
  // The events `joined` and `left` report the result of a join.
  join: ({ room: name, history }) => void room(name, { history }).join().catch(() => {}),
  leave({ tag, room: name, stay }) {
    const leaving = room(name).leave({ stay })
    if (tag === undefined) leaving.catch(() => {})
    else leaving.then(replied(tag), failed(tag))
  },
  send({ tag, room: name, body, ...options }) {
    room(name).send(body, options).then((reply) => tell('sent', { tag, reply }), failed(tag))
  },
  request: ({ tag, type, fields }) => void relay.request(type, fields).then(replied(tag), failed(tag)),
  status: ({ tag, status }) =>
    void relay.setStatus(status).then((reply) => tell('replied', { tag, reply: { status: reply } }), failed(tag)),
  invitations: ({ tag, limit, after }) => void relay.invitations({ limit, after }).then(replied(tag), failed(tag)),
  acceptInvitation: ({ tag, room: name }) => void relay.acceptInvitation(name).then(replied(tag), failed(tag)),
  declineInvitation: ({ tag, room: name }) => void relay.declineInvitation(name).then(replied(tag), failed(tag)),
  invitationCount: ({ tag }) => replied(tag)({ count: invitationCount }),
  token: ({ token: value }) => asking.shift()?.(value),
  priority: ({ room: name, priority }) => void (room(name).priority = priority),
  read: ({ room: name, seq }) => room(name).read(seq),
  activity: ({ state }) => relay.setActivity(state),
  focus: ({ tag, isFocused }) => void relay.setFocus(isFocused).then(replied(tag), failed(tag)),
  // As a service worker does: with the device's report key, and without the client's session.
  report({ tag, report, key, device, isFocused, allow, notification, action, text }) {
    const reporter = new Reporter(urls, key)
    const reports = {
      focus: () => reporter.focus(isFocused, { device }),
      filter: () => reporter.filter({ active: Boolean(allow), allow: allow ?? undefined, device }),
      respond: () => reporter.respond(notification, { action, text }),
      received: () => reporter.received(notification),
    }
    reports[report]().then(replied(tag), failed(tag))
  },
  iterate: ({ tag, room: name, limit }) => void iterations.set(tag, room(name).messages({ limit })),
  // Not awaited: the next message may come later than the next command.
  take({ tag, count }) {
    for (let taken = 0; taken < count; taken += 1) {
      const next = iterations.get(tag).next()
      next.then(({ value: { seq, isAfterGap } }) => tell('taken', { tag, seq, isAfterGap }))
    }
  },
  async advance({ by }) {
    await clock.advance(1000 * by, settle)
    tell('advanced')
  },
  step: ({ by }) => clock.step(1000 * by),
  async sync() {
    await settle()
    tell('synced')
  },
  memory() {
    globalThis.gc()
    tell('memory', { bytes: process.memoryUsage().heapUsed })
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...fields } = JSON.parse(line)
  await commands[name](fields)
}
relay.close()
