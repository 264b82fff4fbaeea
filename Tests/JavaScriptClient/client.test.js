// SPDX-License-Identifier: Apache-2.0
// Tests the parts that only the JavaScript client has: the page's life, listeners that interfere, iterations, aborts,
// handshake errors and the reporter. The socket and the clock are replaced. Tests/Conformance has the other cases.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Stillwire } from '../../web/client/stillwire.js'
import { StillClock } from '../Apps/JavaScriptDriver/still-clock.js'

/** A socket without a network. The test sends the relay's frames. */
class Socket {
  static all = []
  sent = []
  closedWith = undefined

  constructor(url, subprotocol) {
    Object.assign(this, { url, subprotocol })
    Socket.all.push(this)
  }

  send(text) {
    this.sent.push(JSON.parse(text))
  }

  close(code) {
    this.closedWith = code
  }

  say(frame) {
    this.onmessage?.({ data: JSON.stringify(frame) })
  }

  /** The newest frame of this type. */
  last(type) {
    return this.sent.filter((frame) => frame.type === type).at(-1)
  }

  answer(type, fields) {
    this.say({ type: 'ok', id: this.last(type).id, ...fields })
  }
}

function page() {
  const page = new EventTarget()
  page.document = new EventTarget()
  page.document.visibilityState = 'visible'
  return page
}

/** A client with an open connection, and its socket. */
async function open(options = {}) {
  const clock = new StillClock()
  const relay = new Stillwire('ws://127.0.0.1:1/v1/connect', {
    WebSocket: Socket, clock, page: null, random: () => 0.5, hello: { user: 'ann' }, ...options,
  })
  const welcome = async () => {
    await setImmediate()
    const socket = Socket.all.at(-1)
    socket.onopen()
    socket.say({ type: 'welcome', user: 'ann', heartbeat: 600, limits: {} })
    return socket
  }
  relay.connect()
  return { relay, clock, welcome, socket: await welcome(), pass: (s) => clock.advance(1000 * s, () => setImmediate()) }
}

const snapshot = { epoch: 'e', seq: 0, read: 0, messages: [], members: [], memberCount: 0, onlineCount: 0 }
const message = (seq, from = 'bob') => ({ type: 'message', room: 'tea', seq, from, time: 1, body: seq })

async function joined(options) {
  const all = await open(options)
  const room = all.relay.room('tea')
  const joining = room.join()
  all.socket.answer('join', snapshot)
  await joining
  return { ...all, room }
}

test('the typed calls of reactions', async () => {
  const { socket, room } = await joined()
  for (const type of ['react', 'unreact']) {
    const asking = room[type](3, '👍')
    assert.deepEqual(['room', 'seq', 'key'].map((name) => socket.last(type)[name]), ['tea', 3, '👍'])
    socket.answer(type, { room: 'tea', seq: 3, change: 1, reactions: [] })
    assert.deepEqual((await asking).reactions, [])
  }
})

test('the typed calls of moderation', async () => {
  const { socket, room } = await joined()
  const calls = [
    ['pin', () => room.pin(3), { seq: 3 }],
    ['unpin', () => room.unpin(3), { seq: 3 }],
    ['pins', () => room.pins(), {}],
    ['restrict', () => room.restrict('bob', 9), { user: 'bob', until: 9 }],
    ['restrict', () => room.restrict('bob', null), { user: 'bob', until: null }],
    ['update', () => room.setReadOnly(true), { readOnly: true }],
    ['report', () => room.report(3, 'spam'), { seq: 3, reason: 'spam' }],
    ['reports', () => room.reports({ state: 'open', limit: 2 }), { state: 'open', limit: 2 }],
    ['resolve', () => room.resolve(7), { report: 7, state: 'resolved' }],
    ['resolve', () => room.resolve(7, 'dismissed'), { report: 7, state: 'dismissed' }],
  ]
  for (const [type, call, fields] of calls) {
    const asking = call()
    const { type: _, id, ...sent } = socket.last(type)
    assert.deepEqual(sent, { room: 'tea', ...fields })
    socket.answer(type, { done: true })
    assert.equal((await asking).done, true)
  }
})

test('the typed calls of invitations', async () => {
  const { relay, socket } = await open()
  const calls = [
    ['invitations', () => relay.invitations(), {}],
    ['invitations', () => relay.invitations({ limit: 2, after: '7' }), { limit: 2, after: '7' }],
    ['acceptInvitation', () => relay.acceptInvitation('tea'), { room: 'tea' }],
    ['declineInvitation', () => relay.declineInvitation('tea'), { room: 'tea' }],
  ]
  for (const [type, call, fields] of calls) {
    const asking = call()
    const { type: _, id, ...sent } = socket.last(type)
    assert.deepEqual(sent, fields)
    socket.answer(type, { room: 'tea', read: 2 })
    assert.equal((await asking).read, 2)
  }
  const refused = relay.acceptInvitation('none')
  const refusal = { code: 'not_found', message: 'no', temporary: false }
  socket.say({ type: 'error', id: socket.last('acceptInvitation').id, ...refusal })
  await assert.rejects(refused, { code: 'not_found', isTemporary: false })
})

test('an invitation is an event of the client, also for a joined room', async () => {
  const { relay, socket, room } = await joined()
  const seen = []
  relay.addEventListener('invitation', ({ detail }) => seen.push([detail.event, detail.room, detail.cause]))
  room.addEventListener('invitation', () => seen.push('an event of the room'))
  const added = { kind: 'group', members: 1, by: { user: 'bob' }, time: 1 }
  socket.say({ type: 'invitation', event: 'added', room: 'jam', ...added })
  // A join accepts an invitation, so the event can follow the reply.
  socket.say({ type: 'invitation', event: 'ended', room: 'tea', cause: 'accepted' })
  assert.deepEqual(seen, [['added', 'jam', undefined], ['ended', 'tea', 'accepted']])
})

test('the welcome has the number of invitations', async () => {
  const { relay, socket } = await open()
  const numbers = []
  relay.addEventListener('welcome', ({ detail }) => numbers.push(detail.invitations))
  relay.close()
  relay.connect()
  await setImmediate()
  const next = Socket.all.at(-1)
  assert.notEqual(next, socket)
  next.onopen()
  next.say({ type: 'welcome', user: 'ann', heartbeat: 600, limits: {}, invitations: 3 })
  assert.deepEqual(numbers, [3])
})

test('a restricted member stays in the room, and the error of a send has the end', async () => {
  const { socket, room } = await joined()
  const member = { type: 'member', room: 'tea', memberCount: 2 }
  socket.say({ ...member, user: 'ann', event: 'joined', presence: { user: 'ann', online: true, isFocused: null } })
  socket.say({ ...member, user: 'ann', event: 'restricted', restrictedUntil: 9 })
  assert.equal(room.isJoined, true)
  assert.equal(room.presence.members.ann.restrictedUntil, 9)
  socket.say({ type: 'presence', user: 'ann', online: false, isFocused: null })
  assert.deepEqual({ ...room.presence.members.ann }, { user: 'ann', online: false, isFocused: null, restrictedUntil: 9 })
  const sending = room.send('hi')
  const refusal = { code: 'restricted', message: 'no', temporary: false, until: 9 }
  socket.say({ type: 'error', id: socket.last('send').id, ...refusal })
  await assert.rejects(sending, { code: 'restricted', until: 9, isTemporary: false })
  socket.say({ ...member, user: 'ann', event: 'unrestricted' })
  assert.deepEqual({ ...room.presence.members.ann }, { user: 'ann', online: false, isFocused: null })
  socket.say({ ...member, user: 'cem', event: 'restricted', restrictedUntil: 9 })
  assert.equal(room.presence.members.cem, undefined)
  socket.say({ ...member, user: 'ann', event: 'removed' })
  assert.equal(room.isJoined, false)
})

test('the client sends the activity of the page, until the app sets another', async () => {
  const subject = page()
  const { relay, socket, pass } = await open({ page: subject })
  await pass(120)
  assert.equal(socket.last('activity').state, 'idle')
  relay.setActivity('background')
  assert.equal(socket.last('activity').state, 'background')
  subject.dispatchEvent(new Event('keydown'))
  assert.equal(socket.last('activity').state, 'background')
  relay.setActivity(null)
  assert.equal(socket.last('activity').state, 'active')
})

test('a hidden page ends its session, and connects immediately when it is shown', async () => {
  const subject = page()
  const { relay, socket, welcome, pass } = await open({ page: subject })
  subject.dispatchEvent(new Event('pagehide'))
  assert.deepEqual([socket.closedWith, relay.state], [3001, 'waiting'])
  const before = Socket.all.length
  await pass(600)
  subject.dispatchEvent(new Event('online'))
  assert.equal(Socket.all.length, before)
  subject.dispatchEvent(new Event('pageshow'))
  await welcome()
  assert.equal(relay.state, 'open')
})

test('a page that becomes visible probes the connection, also if the app chooses the activity', async () => {
  const subject = page()
  const { relay, socket, pass } = await open({ page: subject })
  relay.setActivity('active')
  const show = (visibilityState) => {
    subject.document.visibilityState = visibilityState
    subject.document.dispatchEvent(new Event('visibilitychange'))
  }
  show('hidden')
  await pass(20)
  assert.equal(socket.last('ping'), undefined)
  show('visible')
  assert.equal(socket.sent.filter(({ type }) => type === 'ping').length, 1)
  await pass(10)
  assert.equal(relay.state, 'waiting')
})

test('the client connects immediately when the network returns', async () => {
  const subject = page()
  const { relay, socket, welcome } = await open({ page: subject, random: () => 1 })
  socket.onclose({ code: 1006, reason: '' })
  subject.dispatchEvent(new Event('offline'))
  assert.equal(relay.state, 'waiting')
  subject.dispatchEvent(new Event('online'))
  await welcome()
  assert.equal(relay.state, 'open')
})

test('the client sends a ping after a change of the network', async () => {
  const subject = page()
  const { relay, socket, pass } = await open({ page: subject })
  subject.dispatchEvent(new Event('offline'))
  assert.equal(socket.last('ping').type, 'ping')
  await pass(10)
  assert.equal(relay.state, 'waiting')
})

test('the client ignores the page after close', async () => {
  const subject = page()
  const { relay } = await open({ page: subject })
  relay.close()
  const before = Socket.all.length
  subject.dispatchEvent(new Event('pageshow'))
  subject.dispatchEvent(new Event('online'))
  await setImmediate()
  assert.deepEqual([Socket.all.length, relay.state], [before, 'closed'])
})

test('the methods of the clock are called with the clock as this', async () => {
  class Clock {
    #still = new StillClock()

    now() {
      return this.#still.now()
    }

    elapsed() {
      return this.#still.elapsed()
    }

    setTimeout(act, delay) {
      return this.#still.setTimeout(act, delay)
    }

    clearTimeout(timer) {
      this.#still.clearTimeout(timer)
    }
  }
  const { relay, socket } = await joined({ clock: new Clock() })
  relay.setFocus(true).catch(() => {})
  assert.equal(socket.last('focus').number, 1_800_000_000_000)
  relay.close()
})

test('close ends all timers and requests', async () => {
  const { relay, clock, socket, room } = await joined({ page: page() })
  const jam = relay.room('jam')
  const ends = [jam.join(), room.send('hi'), relay.request('status', {}), relay.setFocus(true)]
  socket.say({ type: 'error', id: socket.last('join').id, code: 'unavailable', temporary: true })
  socket.say({ type: 'error', id: socket.last('focus').id, code: 'unavailable', temporary: true })
  socket.say(message(1))
  assert.ok(clock.pending > 4)
  relay.close()
  for (const end of ends) await assert.rejects(end, { code: 'closed' })
  assert.deepEqual([clock.pending, room.isJoined], [0, false])
})

for (const [type, act] of [
  ['status', ({ relay }) => relay.request('status', {}).catch(({ code }) => code)],
  ['ping', ({ pass }) => pass(600)],
  ['join', ({ relay }) => relay.room('jam').join().catch(({ code }) => code)],
  ['message', ({ socket }) => socket.say(message(1))],
  ['ok', ({ relay, socket }) => (relay.request('status', {}).catch(() => {}), socket.answer('status', {}))],
]) {
  test(`a listener can close the client at a frame ${type}, which leaves no timer`, async () => {
    const all = await joined()
    const seen = []
    all.room.addEventListener('message', () => seen.push('message'))
    all.relay.addEventListener('frame', ({ detail }) => {
      if (detail.frame.type === type) all.relay.close()
    })
    await act(all)
    assert.deepEqual([all.clock.pending, all.relay.state, seen], [0, 'closed', []])
  })
}

test('a listener can close the client at a welcome, which leaves no timer', async () => {
  const { relay, clock, welcome, socket } = await open()
  socket.onclose({ code: 1006, reason: '' })
  relay.addEventListener('frame', ({ detail }) => {
    if (detail.frame.type === 'welcome') relay.close()
  })
  relay.connect()
  await welcome()
  assert.deepEqual([clock.pending, relay.state], [0, 'closed'])
})

test('a lost connection leaves only the timer of the reconnect', async () => {
  const { relay, clock, socket, room } = await joined()
  const sending = room.send('hi')
  const asking = relay.request('status', {})
  socket.say({ type: 'error', id: socket.last('send').id, code: 'unavailable', temporary: true })
  socket.say(message(1))
  socket.onclose({ code: 1006, reason: '' })
  await assert.rejects(asking, { code: 'closed' })
  assert.deepEqual([clock.pending, room.isJoined], [1, false])
  relay.close()
  await assert.rejects(sending, { code: 'closed' })
})

test('frames of a closed socket are ignored', async () => {
  const { relay, socket, room } = await joined()
  const seen = []
  room.addEventListener('message', ({ detail }) => seen.push(detail.seq))
  relay.close()
  socket.say(message(1))
  assert.deepEqual(seen, [])
})

test('a listener that leaves the room receives no more messages', async () => {
  const { socket, room } = await joined()
  const seen = []
  room.addEventListener('message', ({ detail }) => {
    seen.push(detail.seq)
    room.leave().catch(() => {})
  })
  socket.say({ type: 'ok', id: -1 })
  socket.say(message(1))
  socket.say(message(2))
  assert.deepEqual(seen, [1])
})

test('a listener that leaves at joined receives no message of the reply', async () => {
  const { relay, socket } = await open()
  const room = relay.room('tea')
  const seen = []
  room.addEventListener('joined', () => room.leave({ stay: true }).catch(() => {}))
  room.addEventListener('message', ({ detail }) => seen.push(detail.seq))
  const joining = room.join()
  socket.answer('join', { ...snapshot, seq: 1, messages: [{ seq: 1, from: 'bob', body: 1 }] })
  await assert.rejects(joining, { code: 'closed' })
  assert.deepEqual([seen, room.isJoined], [[], false])
})

test('an own message is shown before its promise resolves, and before later messages', async () => {
  const { socket, room } = await joined()
  const seen = []
  room.addEventListener('message', ({ detail }) => seen.push(detail.seq))
  const sending = room.send('hi').then(() => seen.push('sent'))
  socket.answer('send', { seq: 1, time: 1 })
  socket.say(message(2))
  await sending
  assert.deepEqual(seen, [1, 2, 'sent'])
})

test('a message directly after the reply to a join is shown', async () => {
  const { relay, socket } = await open()
  const room = relay.room('tea')
  const seen = []
  room.addEventListener('message', ({ detail }) => seen.push(detail.seq))
  room.join()
  socket.answer('join', snapshot)
  socket.say(message(1))
  assert.deepEqual(seen, [1])
})

test('a waiting send that is aborted is not sent', async () => {
  const { socket, room } = await joined({ outbox: 2 })
  const first = room.send('first')
  const giveUp = new AbortController()
  const second = room.send('second', { signal: giveUp.signal })
  giveUp.abort(new Error('never mind'))
  await assert.rejects(second, /never mind/)
  // The outbox has free capacity again.
  const third = room.send('third')
  socket.answer('send', { seq: 1, time: 1 })
  await first
  socket.answer('send', { seq: 2, time: 1 })
  assert.equal((await third).seq, 2)
  assert.deepEqual(socket.sent.filter(({ type }) => type === 'send').map(({ body }) => body), ['first', 'third'])
})

test('a pending send that is aborted still delays the next one until its reply', async () => {
  const { socket, room } = await joined()
  const giveUp = new AbortController()
  const first = room.send('first', { signal: giveUp.signal })
  const second = room.send('second')
  giveUp.abort(new Error('never mind'))
  await assert.rejects(first, /never mind/)
  assert.equal(socket.last('send').body, 'first')
  socket.answer('send', { seq: 1, time: 1 })
  assert.equal(socket.last('send').body, 'second')
  socket.answer('send', { seq: 2, time: 1 })
  assert.equal((await second).seq, 2)
})

test('a send with an aborted signal is not sent', async () => {
  const { socket, room } = await joined()
  await assert.rejects(room.send('hi', { signal: AbortSignal.abort() }), { name: 'AbortError' })
  assert.equal(socket.last('send'), undefined)
})

test('an iteration ends after close and its buffered messages', async () => {
  const { relay, socket, room } = await joined()
  const seqs = []
  const iteration = room.messages()
  socket.say(message(1))
  socket.say(message(2))
  relay.close()
  for await (const { seq } of iteration) seqs.push(seq)
  assert.deepEqual(seqs, [1, 2])
})

test('an iteration throws when the relay ends it', async () => {
  for (const [end, code] of [
    [(socket) => socket.say({ type: 'room', room: 'tea', removed: true }), 'removed'],
    [(socket) => socket.onclose({ code: 4506, reason: '' }), 'refused'],
  ]) {
    const { socket, room } = await joined()
    const next = room.messages().next()
    end(socket)
    await assert.rejects(next, { code })
  }
})

test('an iteration that the app has left buffers nothing', async () => {
  const { socket, room } = await joined()
  const iteration = room.messages()
  socket.say(message(1))
  for await (const { seq } of iteration) if (seq === 1) break
  socket.say(message(2))
  assert.deepEqual(await iteration.next(), { value: undefined, done: true })
})

test('an iteration needs a limit of at least 1', async () => {
  const { room } = await joined()
  for (const limit of [0, -1, NaN]) assert.throws(() => room.messages({ limit }), RangeError)
})

test('without a connection a room can be left only with stay', async () => {
  const { socket, room } = await joined()
  socket.onclose({ code: 1006, reason: '' })
  await assert.rejects(room.leave(), { code: 'closed' })
  await room.leave({ stay: true })
  await assert.rejects(room.send('hi'), { code: 'not_joined' })
})

for (const event of ['state', 'welcome']) {
  test(`a listener of ${event} can join and leave rooms`, async () => {
    const { relay, socket, welcome } = await open()
    const rooms = ['kept', 'left', 'again'].map((name) => relay.room(name))
    for (const room of rooms) room.join().catch(() => {})
    socket.onclose({ code: 1006, reason: '' })
    const [kept, left, again] = rooms
    relay.addEventListener(event, () => {
      if (relay.state !== 'open') return
      relay.room('new').join()
      kept.join()
      for (const room of [left, again]) room.leave({ stay: true }).catch(() => {})
      again.join()
    })
    relay.connect()
    const next = await welcome()
    const joins = next.sent.filter(({ type }) => type === 'join').map(({ room }) => room)
    assert.deepEqual(joins.sort(), ['again', 'kept', 'new'])
  })
}

test('a fault while a reply to join is processed does not delay the other joins', async () => {
  const { relay, socket } = await open({
    random() {
      throw new Error('a fault')
    },
  })
  for (const name of ['a', 'b', 'c', 'd', 'e']) relay.room(name).join()
  const refusal = { type: 'error', id: socket.last('join').id, code: 'unavailable', temporary: true }
  assert.throws(() => socket.say(refusal), /a fault/)
  assert.equal(socket.last('join').room, 'e')
})

test('a send before join names the room to join', async () => {
  const { relay } = await open()
  await assert.rejects(relay.room('tea').send('hi'), { code: 'not_joined', message: /join tea/ })
})

test('a waiting join fails when the client is refused', async () => {
  const { relay, socket } = await open()
  const joining = relay.room('tea').join()
  socket.onclose({ code: 4506, reason: '' })
  await assert.rejects(joining, { code: 'refused' })
  assert.equal(relay.state, 'refused')
})

test('a token that arrives after close opens no socket', async () => {
  let give
  const relay = new Stillwire('ws://127.0.0.1:1/', {
    WebSocket: Socket, page: null, token: () => new Promise((resolve) => (give = resolve)),
  })
  relay.connect()
  await setImmediate()
  relay.close()
  const before = Socket.all.length
  give('a.b.late')
  await setImmediate()
  assert.equal(Socket.all.length, before)
})

// Reasons of refusals and failed handshakes

/** A client with a pending handshake or `hello`, and its socket. */
async function connecting(options = {}) {
  const clock = new StillClock()
  const relay = new Stillwire('ws://127.0.0.1:1/v1/connect', {
    WebSocket: Socket, clock, page: null, random: () => 0.5, fetch: null, ...options,
  })
  const errors = []
  relay.addEventListener('error', ({ detail }) => errors.push(detail))
  relay.connect()
  await setImmediate()
  const socket = () => Socket.all.at(-1)
  return { relay, socket, errors, pass: (s) => clock.advance(1000 * s, () => setImmediate()) }
}

test('the error that answers hello is the reason of the refusal', async () => {
  const { relay, socket } = await connecting({ token: async () => 'a.b.old' })
  const joining = relay.room('tea').join()
  socket().onopen()
  socket().say({ type: 'error', code: 'unauthorized', message: 'the token is for another audience', temporary: false })
  socket().say({ type: 'bye', code: 4501, reason: 'the token is for another audience', reconnect: false })
  socket().onclose({ code: 4501, reason: '' })
  const reason = 'unauthorized: the token is for another audience'
  assert.deepEqual([relay.state, relay.reason], ['refused', reason])
  await assert.rejects(joining, { code: 'refused', message: reason })
})

test('a static token that has expired ends the client', async () => {
  const { relay, socket, pass } = await connecting({ token: 'a.b.static' })
  socket().onopen()
  socket().say({ type: 'error', code: 'unauthorized', message: 'the token has expired', temporary: false })
  socket().say({ type: 'bye', code: 4002, reason: 'the token has expired', reconnect: true })
  socket().onclose({ code: 4002, reason: '' })
  assert.deepEqual([relay.state, relay.reason], ['refused', 'unauthorized: the token has expired'])
  const before = Socket.all.length
  await pass(600)
  assert.equal(Socket.all.length, before)
})

test('a static token that expires in a session ends the client', async () => {
  const { relay, socket } = await open({ token: 'a.b.static' })
  socket.say({ type: 'bye', code: 4002, reason: 'the token has expired', reconnect: true })
  socket.onclose({ code: 4002, reason: '' })
  assert.deepEqual([relay.state, relay.reason], ['refused', 'the token has expired'])
})

test('a static text that is no token refuses the client before it connects', async () => {
  const before = Socket.all.length
  for (const token of ['secret', '']) {
    const { relay } = await connecting({ token })
    assert.deepEqual(
      [relay.state, relay.reason],
      ['refused', 'the option token is not a token: it has no three parts, separated by dots']
    )
  }
  assert.equal(Socket.all.length, before)
})

test('a token function is called again after its token has expired', async () => {
  const { relay, socket } = await connecting({ token: async () => 'a.b.next' })
  socket().onopen()
  socket().say({ type: 'bye', code: 4002, reason: 'the token has expired', reconnect: true })
  socket().onclose({ code: 4002, reason: '' })
  assert.equal(relay.state, 'waiting')
})

/** The HTTP answer to the request for the reason of a failed handshake. */
const answering = (status, problem) => async () =>
  new Response(problem ? JSON.stringify(problem) : '', {
    status,
    headers: { 'Content-Type': problem ? 'application/problem+json' : 'text/html' },
  })

async function failedHandshake(fetch, times = 1) {
  const all = await connecting({ fetch })
  const joining = all.relay.room('tea').join()
  joining.catch(() => {})
  for (let time = 1; time <= times; time += 1) {
    all.socket().onclose({ code: 1006, reason: '' })
    for (let turn = 0; turn < 8; turn += 1) await setImmediate()
    if (time < times) await all.pass(30)
  }
  return { ...all, joining }
}

test("a handshake that the relay refuses ends the client with the relay's reason", async () => {
  const asked = []
  const answer = answering(403, { code: 'forbidden', detail: 'the setting origins does not list this Origin' })
  const { relay, errors, joining, socket, pass } = await failedHandshake((url, options) => {
    asked.push(url)
    return answer(url, options)
  })
  const reason = 'forbidden: the setting origins does not list this Origin'
  assert.deepEqual(asked, ['http://127.0.0.1:1/v1/connect'])
  assert.deepEqual([relay.state, relay.reason], ['refused', reason])
  assert.deepEqual(errors.map(({ code, message }) => [code, message]), [['forbidden', 'the setting origins does not list this Origin']])
  await assert.rejects(joining, { code: 'refused', message: reason })
  const before = socket()
  await pass(600)
  assert.equal(socket(), before)
})

test('a listener can close the client at a refusal', async () => {
  for (const again of [false, true]) {
    const fetch = answering(403, { code: 'forbidden', detail: 'the setting origins does not list this Origin' })
    const { relay, socket } = await connecting({ fetch })
    const states = []
    relay.addEventListener('state', ({ detail }) => states.push(detail.state))
    relay.addEventListener('error', () => {
      relay.close()
      if (again) relay.connect()
    })
    socket().onclose({ code: 1006, reason: '' })
    for (let turn = 0; turn < 8; turn += 1) await setImmediate()
    assert.deepEqual(states, again ? ['waiting', 'closed', 'connecting'] : ['waiting', 'closed'])
    relay.close()
  }
})

test('the reason is requested after the failures 1, 2, 4 and 8', async () => {
  let requests = 0
  const counts = []
  const { socket, pass, relay } = await connecting({ fetch: async () => (requests += 1, new Response('', { status: 502 })) })
  for (let failure = 1; failure <= 9; failure += 1) {
    socket().onclose({ code: 1006, reason: '' })
    for (let turn = 0; turn < 8; turn += 1) await setImmediate()
    counts.push(requests)
    await pass(120)
  }
  assert.deepEqual(counts, [1, 2, 2, 3, 3, 3, 3, 4, 4])
  relay.close()
})

test('a redirect is reported as a redirect', async () => {
  const { handshakeRefusal } = await import('../../web/client/handshake.js')
  // A browser hides the status of a redirect that it does not follow.
  const fetch = async () => ({ type: 'opaqueredirect', status: 0, headers: new Headers() })
  const found = await handshakeRefusal('wss://relay.example.org/v1/connect', { fetch, origin: undefined })
  assert.deepEqual([found.code, found.isFinal], ['handshake', false])
  assert.match(found.message, /redirect/)
})

test('the reason names the page that the relay refuses', async () => {
  const { handshakeRefusal } = await import('../../web/client/handshake.js')
  const fetch = answering(403, { code: 'forbidden', detail: 'the setting origins does not list this Origin' })
  const found = await handshakeRefusal('wss://relay.example.org/v1/connect', { fetch, origin: 'http://localhost:3000' })
  assert.match(found.message, /origins.*http:\/\/localhost:3000/)
  assert.equal(found.isFinal, true)
})

test('a temporarily refused handshake is reported once, and retried', async () => {
  const fetch = answering(503, { code: 'unavailable', detail: 'the server is shutting down' })
  const { relay, errors } = await failedHandshake(fetch, 3)
  assert.equal(relay.state, 'waiting')
  assert.deepEqual(errors.map(({ code, temporary }) => [code, temporary]), [['unavailable', true]])
})

for (const status of [426, 502]) {
  test(`a proxy that answers ${status} is reported from the second failure on`, async () => {
    assert.deepEqual((await failedHandshake(answering(status))).errors, [])
    const { relay, errors } = await failedHandshake(answering(status), 2)
    assert.equal(relay.state, 'waiting')
    assert.deepEqual(errors.map(({ code }) => code), ['handshake'])
    assert.match(errors[0].message, status === 426 ? /proxy.*Upgrade.*Host.*origins/ : /502/)
  })
}

test('a relay that does not answer causes no refusal', async () => {
  const { relay, errors } = await failedHandshake(() => Promise.reject(new TypeError('failed')), 3)
  assert.deepEqual([relay.state, errors], ['waiting', []])
})

test('an answer that the page may not read gives a reason that names the origin', async () => {
  const { handshakeRefusal } = await import('../../web/client/handshake.js')
  const fetch = async (url, { mode }) => {
    if (mode !== 'no-cors') throw new TypeError('blocked')
    return new Response()
  }
  const found = await handshakeRefusal('wss://relay.example.org/v1/connect', { fetch, origin: 'http://localhost:3000' })
  assert.match(found.message, /http:\/\/localhost:3000.*origins/)
  assert.equal(found.isFinal, false)
  assert.equal(await handshakeRefusal('ws://a/', { fetch, origin: undefined }), null)
})

test('without an answer, the reason of a public page names the permission for local addresses', async () => {
  const { handshakeRefusal } = await import('../../web/client/handshake.js')
  const fetch = () => Promise.reject(new TypeError('failed'))
  const reason = (host, origin) => handshakeRefusal(`ws://${host}/v1/connect`, { fetch, origin })
  const locals = ['localhost:8080', '127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.9.9', '192.168.1.5', '169.254.1.1']
  for (const host of [...locals, 'printer.local', '[::1]:8080', '[fd00::1]', '[fe80::1]']) {
    const found = await reason(host, 'https://app.example.org')
    assert.ok(found.message.startsWith(`no answer from ${host}: `), found.message)
    assert.match(found.message, /https:\/\/app\.example\.org to local addresses .* local network access/)
    assert.equal(found.isFinal, false)
    assert.equal(await reason(host, 'http://localhost:3000'), null)
  }
  const others = ['relay.example.org', '11.0.0.1', '172.32.0.1', '172.15.0.1', '192.169.1.1', '[2001:db8::1]', '10.example.org']
  for (const host of others) {
    assert.equal(await reason(host, 'https://app.example.org'), null, host)
  }
  assert.equal((await reason('localhost', 'null')).isFinal, false)
})

// The report key

test('a reporter sends what its key permits', async () => {
  const { Reporter } = await import('../../web/client/stillwire.js')
  const sent = []
  const fetch = async (url, { method, headers, body }) => {
    sent.push([method, String(url), headers.Authorization, JSON.parse(body)])
    return new Response('{"applied":true}')
  }
  const reporter = new Reporter('wss://relay.example.org/v1/connect', 'swr_key', { fetch, now: () => 7 })
  assert.deepEqual(await reporter.focus(true, { source: 'manual' }), { applied: true })
  await reporter.filter({ active: true, allow: ['work'] })
  await reporter.respond('a/b', { action: 'accept' })
  await reporter.received('id')
  const base = 'https://relay.example.org/v1'
  assert.deepEqual(sent, [
    ['PUT', `${base}/users/me/focus`, 'Bearer swr_key', { isFocused: true, number: 7, source: 'manual' }],
    ['PUT', `${base}/users/me/filter`, 'Bearer swr_key', { number: 7, active: true, allow: ['work'] }],
    ['POST', `${base}/notifications/a%2Fb/responses`, 'Bearer swr_key', { action: 'accept' }],
    ['POST', `${base}/notifications/id/received`, 'Bearer swr_key', {}],
  ])
})

/**
 * A relay that answers reports with `replies`, one after the other. `numbers` has the numbers of the reports. The wall
 * clock shows `times`, one after the other.
 */
async function reporting(replies, times = []) {
  const { Reporter } = await import('../../web/client/stillwire.js')
  const numbers = []
  const fetch = async (url, { body }) => {
    numbers.push(JSON.parse(body).number)
    return new Response(JSON.stringify(replies.shift()))
  }
  return { reporter: new Reporter('http://relay.example.org', 'swr_key', { fetch, now: () => times.shift() ?? 1000 }), numbers }
}

test('a report that is not applied is repeated once above the stored number', async () => {
  const ahead = { applied: false, number: 5000 }
  const { reporter, numbers } = await reporting([ahead, { applied: true, isFocused: true }, { applied: true }])
  assert.deepEqual(await reporter.focus(true), { applied: true, isFocused: true })
  await reporter.focus(false)
  assert.deepEqual(numbers, [1000, 5001, 5002])
  for (const report of [({ reporter }) => reporter.focus(true), ({ reporter }) => reporter.filter({ active: false })]) {
    const again = await reporting([ahead, { applied: false, number: 6000 }])
    await assert.rejects(report(again), { code: 'not_applied' })
    assert.deepEqual(again.numbers, [1000, 5001])
  }
})

test('a report is not repeated above a newer one, without a stored number, or with the number of the app', async () => {
  const newer = await reporting([{ applied: false, number: 9000 }, { applied: true }])
  const late = assert.rejects(newer.reporter.focus(true), { code: 'replaced' })
  await newer.reporter.focus(false)
  await late
  const { reporter, numbers } = await reporting([{ applied: false }, { applied: false, number: 9 }])
  await assert.rejects(reporter.focus(true), { code: 'not_applied' })
  await assert.rejects(reporter.focus(true, { number: 5 }), { code: 'not_applied' })
  assert.deepEqual(numbers, [1000, 5])
})

test('a step of the wall clock before the reply does not change if a report is the newest', async () => {
  // The device's clock was ahead before, and is ahead again when the reply arrives.
  const ahead = await reporting([{ applied: false, number: 3_600_000 }, { applied: true }], [1000, 7_200_000])
  assert.deepEqual(await ahead.reporter.focus(true), { applied: true })
  assert.deepEqual(ahead.numbers, [1000, 3_600_001])
  // Another tab has made a report a millisecond later, and then the clock was set back.
  const newer = await reporting([{ applied: false, number: 1001 }, { applied: true }], [1000, 0])
  await assert.rejects(newer.reporter.focus(true), { code: 'replaced' })
  assert.deepEqual(newer.numbers, [1000])
})

test('the numbers of another tab follow the time since a report was made', async () => {
  const { ReportNumbers } = await import('../../web/client/report-number.js')
  let age = 0
  const numbers = new ReportNumbers(() => 1000, () => () => age)
  const sent = numbers.next()
  age = 99.9
  const stored = (number) => ({ applied: false, number })
  assert.throws(() => numbers.after(stored(sent + 100), sent, false), { code: 'replaced' })
  assert.equal(numbers.after(stored(sent + 101), sent, false), sent + 102)
})

test('a report with the stored number has arrived before', async () => {
  const { reporter } = await reporting([{ applied: false, number: 1000 }])
  assert.deepEqual(await reporter.focus(true), { applied: true, number: 1000 })
})

test("a reporter rejects with the relay's code and message", async () => {
  const { Reporter } = await import('../../web/client/stillwire.js')
  const reporter = (fetch) => new Reporter('http://relay.example.org', 'swr_key', { fetch })
  const refused = answering(401, { code: 'unauthorized', detail: 'the report key was revoked' })
  await assert.rejects(reporter(refused).focus(true), {
    code: 'unauthorized', message: 'the report key was revoked', isTemporary: false,
  })
  const limited = answering(429, { code: 'rate_limited', detail: 'too many requests', retryAfter: 2 })
  await assert.rejects(reporter(limited).focus(true), { isTemporary: true, retryAfter: 2 })
  await assert.rejects(reporter(answering(502)).focus(true), { code: 'bad_answer', message: /502/, isTemporary: true })
  await assert.rejects(reporter(answering(404)).focus(true), { code: 'bad_answer', isTemporary: false })
  await assert.rejects(reporter(answering(200)).focus(true), { code: 'bad_answer', isTemporary: false })
  const gone = () => Promise.reject(new TypeError('failed'))
  await assert.rejects(reporter(gone).focus(true), { code: 'unreachable', isTemporary: true })
})

test('a permanent error of the token function refuses the client', async () => {
  const { StillwireError } = await import('../../web/client/stillwire.js')
  const relay = new Stillwire('ws://127.0.0.1:1/', {
    WebSocket: Socket, page: null,
    token: () => Promise.reject(new StillwireError({ code: 'unauthorized', message: 'signed out' })),
  })
  relay.connect()
  await setImmediate()
  assert.deepEqual([relay.state, relay.reason], ['refused', 'signed out'])
})

test('a token function that never resolves is called again', async () => {
  const clock = new StillClock()
  let asked = 0
  const relay = new Stillwire('ws://127.0.0.1:1/', {
    WebSocket: Socket, clock, page: null, random: () => 0.5, token: () => (asked++, new Promise(() => {})),
  })
  relay.connect()
  await clock.advance(15_000, () => setImmediate())
  assert.equal(relay.state, 'waiting')
  await clock.advance(1_000, () => setImmediate())
  assert.deepEqual([relay.state, asked], ['connecting', 2])
})

test('the client dispatches events of rooms that are not joined', async () => {
  const { relay, socket } = await open()
  const seen = []
  for (const type of ['message', 'room', 'weather', 'state']) {
    relay.addEventListener(type, ({ detail }) => seen.push([type, detail.room]))
  }
  socket.say(message(1))
  socket.say({ type: 'room', room: 'jam', added: true })
  socket.say({ type: 'weather', room: 'jam' })
  socket.say({ type: 'state', room: 'jam' })
  assert.deepEqual(seen, [['message', 'tea'], ['room', 'jam']])
})

test('a client needs an address and a WebSocket', () => {
  for (const urls of ['nowhere', [], ['ws://a/', 'nowhere']]) {
    assert.throws(() => new Stillwire(urls, { WebSocket: Socket }), TypeError)
  }
  assert.throws(() => new Stillwire('ws://127.0.0.1:1/', { WebSocket: null }), {
    name: 'TypeError',
    message:
      `no global WebSocket (Node has one from version 22 on, and this is ${process.version}): ` +
      'pass the class of the package ws in the option WebSocket',
  })
})
