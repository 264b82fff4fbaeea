// SPDX-License-Identifier: Apache-2.0
// Tests the JavaScript client with the addresses of several nodes: the order of attempts, requests over HTTP, and the
// reports. The network is replaced. Tests/Conformance has the cases that both clients share.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Addresses } from '../../web/client/addresses.js'
import { Reporter, Stillwire } from '../../web/client/stillwire.js'
import { StillClock } from '../Apps/JavaScriptDriver/still-clock.js'

const address = (node) => `wss://${node}.example.org/v1/connect`
const nodes = ['a', 'b', 'c'].map(address)

/** The answer of a standby node that knows no leader. */
const unaware = Symbol('unaware')

/**
 * Plays a round: each step is the leader that the node names, `unaware`, or undefined for no answer. Returns the nodes
 * that were tried.
 */
function play(addresses, steps) {
  const round = addresses.round()
  const tried = [new URL(round.url).host[0]]
  for (const answer of steps) {
    const leader = answer === unaware ? undefined : answer
    if (!round.next(leader, answer !== undefined)) return tried
    tried.push(new URL(round.url).host[0])
  }
  return tried
}

for (const [name, steps, expected] of [
  ['without a leader the nodes follow in order', [undefined, undefined, undefined], 'abc'],
  ['the leader is next', ['https://c.example.org', undefined, undefined], 'acb'],
  ['nodes that name each other are tried once', [address('b'), address('a'), address('a')], 'abc'],
  ['a node that names itself is not tried again', [address('a'), undefined, undefined], 'abc'],
  ['the port of the scheme and the path do not matter', ['https://c.example.org:443/', undefined], 'acb'],
  ['a leader with another host is ignored', ['https://c.example.com', undefined], 'abc'],
  ['a leader with another port is ignored', ['https://c.example.org:8443', undefined], 'abc'],
  ['a leader without TLS is ignored', ['http://c.example.org', undefined], 'abc'],
  ['a leader below another path is ignored', ['https://c.example.org/chat', undefined], 'abc'],
  ['a name that looks like a node is ignored', ['https://c.example.org@evil.example', undefined], 'abc'],
  ['a text that is no URL is ignored', ['c.example.org', undefined], 'abc'],
  ['nodes that know no leader are tried once', [unaware, address('a'), unaware, unaware], 'abc'],
]) {
  test(`in a round ${name}`, () => assert.equal(play(new Addresses(nodes), steps).join(''), expected))
}

test('a round begins with the last leader', () => {
  const addresses = new Addresses(nodes)
  const round = addresses.round()
  round.next(address('c'))
  round.succeeded()
  assert.equal(play(addresses, [undefined, undefined]).join(''), 'cab')
})

test('a round begins with the newest leader that a node named, also if that node was tried', () => {
  const addresses = new Addresses(nodes)
  play(addresses, [undefined, address('a'), address('b')])
  assert.equal(play(addresses, [])[0], 'b')
})

test('a round begins after a leader that no longer answers', () => {
  const addresses = new Addresses(nodes)
  const round = addresses.round()
  round.succeeded()
  round.avoid()
  assert.equal(play(addresses, [undefined, undefined]).join(''), 'bca')
})

/** Addresses of which `a` was silent at 0. `time.now` is the time. */
function afterSilence() {
  const time = { now: 0 }
  const addresses = new Addresses(nodes, () => time.now)
  const round = addresses.round()
  round.succeeded()
  round.avoid()
  return { time, addresses }
}

for (const [name, at, steps, expected] of [
  ['a silent node is left out if the others know no leader', 9_999, [unaware, unaware], 'bc'],
  ['a silent node is tried again after 10 s', 10_000, [unaware, unaware], 'bca'],
  ['a silent node is tried if a node names it', 0, [unaware, address('a')], 'bca'],
  ['a silent node is tried if a node names a leader with an unknown address', 0, [unaware, 'https://x.example'], 'bca'],
  ['a silent node is tried if no other node answers', 0, [undefined, undefined], 'bca'],
]) {
  test(`in a round ${name}`, () => {
    const { time, addresses } = afterSilence()
    time.now = at
    assert.equal(play(addresses, steps).join(''), expected)
  })
}

test('a node that answers is no longer silent', () => {
  const { addresses } = afterSilence()
  assert.equal(play(addresses, [address('a'), unaware, unaware]).join(''), 'bac')
  assert.equal(play(addresses, [unaware, unaware]).join(''), 'abc')
})

test('a leader is news if it is another node than before, or if a node has named it', () => {
  const addresses = new Addresses(nodes)
  const answered = (...steps) => {
    const round = addresses.round()
    for (const leader of steps) round.next(leader, true)
    return round.succeeded()
  }
  assert.deepEqual([answered(), answered(), answered()], [true, false, false])
  assert.deepEqual([answered(address('b')), answered()], [true, false])
  assert.deepEqual([answered(undefined, address('b')), answered()], [true, false])
  assert.equal(new Addresses(address('a')).round().succeeded(), false)
})

test('an address that occurs twice counts once', () => {
  assert.equal(new Addresses([address('a'), address('a')]).areSeveral, false)
  assert.equal(play(new Addresses([address('a'), address('a')]), [undefined]).join(''), 'a')
})

/** A socket without a network. */
class Socket {
  static all = []
  sent = []

  constructor(url) {
    this.node = new URL(url).host[0]
    Socket.all.push(this)
  }

  send(text) {
    this.sent.push(JSON.parse(text))
  }

  close() {}

  say(frame) {
    this.onmessage?.({ data: JSON.stringify(frame) })
  }
}

/** The answers of standby nodes over HTTP, by node. */
function standbys(leaders, asked = []) {
  return async (url) => {
    const [node] = new URL(url).host
    asked.push(node)
    if (!(node in leaders)) throw new TypeError('failed')
    const problem = { status: 503, code: 'unavailable', detail: 'this node does not lead', leader: leaders[node] }
    return new Response(JSON.stringify(problem), {
      status: 503, headers: { 'Content-Type': 'application/problem+json' },
    })
  }
}

const settle = async () => {
  for (let turn = 0; turn < 8; turn += 1) await setImmediate()
}

async function connecting(options = {}) {
  Socket.all = []
  const clock = new StillClock()
  const relay = new Stillwire(nodes, {
    WebSocket: Socket, clock, page: null, random: () => 0.5, fetch: null, hello: { user: 'ann' }, ...options,
  })
  const states = []
  const errors = []
  relay.addEventListener('state', ({ detail }) => states.push(detail.state))
  relay.addEventListener('error', ({ detail }) => errors.push(detail.code))
  relay.connect()
  await settle()
  const fail = async (outcome = { code: 1006, reason: '' }) => {
    Socket.all.at(-1).onclose(outcome)
    await settle()
  }
  const welcome = () => {
    Socket.all.at(-1).onopen()
    Socket.all.at(-1).say({ type: 'welcome', user: 'ann', heartbeat: 25, limits: {} })
  }
  const pass = (s) => clock.advance(1000 * s, settle)
  const tried = () => Socket.all.map(({ node }) => node).join('')
  return { relay, clock, states, errors, fail, welcome, pass, tried }
}

test('the client asks a standby node for the leader, and connects to it', async () => {
  const asked = []
  const { relay, states, errors, fail, welcome, tried } = await connecting({ fetch: standbys({ a: address('c') }, asked) })
  await fail()
  welcome()
  assert.deepEqual([tried(), asked, states, errors], ['ac', ['a'], ['connecting', 'open'], []])
  relay.close()
})

test('the client waits after a full round, and reports the reason of the last node', async () => {
  const { relay, states, errors, fail, pass, tried } = await connecting({ fetch: standbys({ a: null, b: null, c: null }) })
  await fail()
  await fail()
  assert.deepEqual([tried(), states], ['abc', ['connecting']])
  await fail()
  assert.deepEqual([tried(), states, errors], ['abc', ['connecting', 'waiting'], ['unavailable']])
  await pass(1)
  assert.equal(tried(), 'abca')
  relay.close()
})

test('a lasting refusal by one node refuses the client', async () => {
  const fetch = async () => new Response('{"code":"forbidden","detail":"the Origin is not listed"}', {
    status: 403, headers: { 'Content-Type': 'application/problem+json' },
  })
  const { relay, errors, fail, tried } = await connecting({ fetch })
  await fail()
  assert.deepEqual([tried(), relay.state, errors], ['a', 'refused', ['forbidden']])
})

for (const end of ['close', 'suspend']) {
  test(`no attempt follows if the client ends during the request for the leader: ${end}`, async () => {
    const page = new EventTarget()
    page.document = new EventTarget()
    let answer
    const fetch = () => new Promise((resolve) => (answer = resolve))
    const { relay, clock, fail, pass, tried } = await connecting({ fetch, page })
    await fail()
    if (end === 'close') relay.close()
    else page.dispatchEvent(new Event('pagehide'))
    answer(await standbys({ a: address('b') })('https://a.example.org'))
    await settle()
    await pass(600)
    assert.deepEqual([tried(), relay.state], ['a', end === 'close' ? 'closed' : 'waiting'])
    relay.close()
    assert.equal(clock.pending, 0)
  })
}

test('a failing token function is not an error of the address', async () => {
  const { relay, states, tried } = await connecting({ token: () => Promise.reject(new Error('offline')) })
  assert.deepEqual([tried(), states], ['', ['connecting', 'waiting']])
  relay.close()
})

test('a socket to one of several nodes has a timeout of 5 s, which does not include the token', async () => {
  let give
  const { relay, states, pass, tried } = await connecting({ token: () => new Promise((resolve) => (give = resolve)) })
  await pass(9)
  give('a.b.t')
  await settle()
  await pass(4.9)
  assert.equal(tried(), 'a')
  await pass(0.1)
  give('a.b.t')
  await settle()
  assert.deepEqual([tried(), states], ['ab', ['connecting']])
  relay.close()
})

/** A client with an open session, whose welcome took this time. */
async function open(seconds, options) {
  const all = await connecting(options)
  const welcome = async (after) => {
    Socket.all.at(-1).onopen()
    await all.pass(after)
    const limits = { frame: 65_536, pongTimeout: 10, preferences: Array(100).fill('quietHours') }
    Socket.all.at(-1).say({ type: 'welcome', user: 'ann', heartbeat: 25, limits })
  }
  await welcome(seconds)
  return { ...all, welcome }
}

test('on a slow line the client leaves a silent node when a large frame would have arrived', async () => {
  const { relay, pass, tried } = await open(0.3, { timeout: 60 })
  relay.request('status', {}).catch(() => {})
  await pass(3)
  assert.equal(Socket.all[0].sent.at(-1).type, 'ping')
  await pass(14.3)
  assert.equal(relay.state, 'open')
  await pass(0.2)
  assert.equal(relay.state, 'waiting')
  await pass(1)
  assert.equal(tried(), 'ab')
  relay.close()
})

test('a reply shows that the line is fast', async () => {
  const { relay, pass } = await open(0.3)
  const listed = relay.request('rooms')
  Socket.all[0].say({ type: 'ok', id: Socket.all[0].sent.at(-1).id, rooms: ['tea'] })
  await listed
  relay.request('status', {}).catch(() => {})
  await pass(3.9)
  assert.equal(relay.state, 'open')
  await pass(0.1)
  assert.equal(relay.state, 'waiting')
  relay.close()
})

test('after a silent session the line counts as slow for 5 s', async () => {
  const { relay, pass, welcome, tried } = await open(0, { timeout: 60 })
  const ask = () => relay.request('status', {}).catch(() => {})
  ask()
  await pass(5)
  assert.equal(tried(), 'ab')
  await welcome(0)
  ask()
  await pass(17.3)
  assert.equal(relay.state, 'open')
  await pass(0.2)
  assert.equal(relay.state, 'waiting')
  await pass(1)
  await welcome(0)
  await pass(5)
  ask()
  await pass(4)
  assert.equal(relay.state, 'waiting')
  relay.close()
})

test('a hanging token function makes no address silent', async () => {
  const { relay, pass, fail, tried } = await connecting({
    token: () => (Socket.all.length ? new Promise(() => {}) : 'a.b.c'), fetch: standbys({ a: undefined }),
  })
  await fail()
  await pass(15)
  await pass(15)
  assert.deepEqual([tried(), relay.state], ['a', 'waiting'])
  relay.close()
})

// Reports over HTTP

function answers(table) {
  const sent = []
  const fetch = async (url, { headers, redirect, body }) => {
    const { host } = new URL(url)
    sent.push([host[0], headers.Authorization, redirect])
    assert.deepEqual(Object.keys(JSON.parse(body)), ['isFocused', 'number'])
    return table[host[0]]()
  }
  return { sent, fetch }
}

const applied = () => new Response('{"applied":true}')
const redirect = (leader) => () => new Response(null, { status: 307, headers: { 'Stillwire-Leader': leader, Location: leader } })
// A browser hides the answer.
const hidden = () => ({ type: 'opaqueredirect', ok: false, status: 0, headers: new Headers(), json: () => Promise.reject() })
const unavailable = () => new Response('{"code":"unavailable","detail":"no leader"}', { status: 503 })
const gone = () => Promise.reject(new TypeError('failed'))

for (const [name, table, expected] of [
  ['the leader that a redirect names', { a: redirect('https://c.example.org'), b: unavailable, c: applied }, 'ac'],
  ['the next node after a hidden redirect', { a: hidden, b: applied }, 'ab'],
  ['the next node if one does not answer', { a: gone, b: unavailable, c: applied }, 'abc'],
  ['no foreign host', { a: redirect('https://evil.example'), b: applied }, 'ab'],
]) {
  test(`a reporter tries ${name}`, async () => {
    const { sent, fetch } = answers(table)
    const reporter = new Reporter(nodes, 'swr_key', { fetch })
    assert.deepEqual(await reporter.focus(true), { applied: true })
    assert.equal(sent.map(([host]) => host).join(''), expected)
    assert.ok(sent.every(([, key, redirect]) => key === 'Bearer swr_key' && redirect === 'manual'))
    // The next report begins with the leader.
    await reporter.focus(false)
    assert.equal(sent.at(-1)[0], expected.at(-1))
    assert.equal(sent.length, expected.length + 1)
  })
}

test('a reporter rejects with the last error if no node leads', async () => {
  const { sent, fetch } = answers({ a: redirect(address('b')), b: redirect(address('a')), c: unavailable })
  await assert.rejects(new Reporter(nodes, 'swr_key', { fetch }).focus(true), { code: 'unavailable', isTemporary: true })
  assert.equal(sent.length, 3)
})

test('a reporter finds each of three leaders in sequence, and begins with the last one', async () => {
  const table = { a: applied, b: unavailable, c: unavailable }
  const { sent, fetch } = answers(table)
  const reporter = new Reporter(nodes, 'swr_key', { fetch })
  await reporter.focus(true)
  for (const [last, next, other] of ['abc', 'bca', 'cab']) {
    Object.assign(table, { [last]: gone, [next]: redirect(address(other)), [other]: applied })
    await reporter.focus(true)
    Object.assign(table, { [last]: unavailable, [next]: applied, [other]: redirect(address(next)) })
    await reporter.focus(true)
  }
  assert.equal(sent.map(([host]) => host).join(''), 'a' + 'abc' + 'cb' + 'bca' + 'ac' + 'cab' + 'ba')
})

test('a reporter does not begin with a node that did not answer the last report', async () => {
  const { sent, fetch } = answers({ a: gone, b: unavailable, c: unavailable })
  const reporter = new Reporter(nodes, 'swr_key', { fetch })
  await assert.rejects(reporter.focus(true), { code: 'unavailable' })
  await assert.rejects(reporter.focus(true), { code: 'unavailable' })
  assert.equal(sent.map(([host]) => host).join(''), 'abc' + 'bc')
})

test('a reporter does not repeat a report that the leader refuses', async () => {
  const { sent, fetch } = answers({ a: () => new Response('{"code":"unauthorized","detail":"revoked"}', { status: 401 }) })
  await assert.rejects(new Reporter(nodes, 'swr_key', { fetch }).focus(true), { code: 'unauthorized' })
  assert.equal(sent.length, 1)
})

test('a reporter does not follow the redirect of a single relay', async () => {
  const { sent, fetch } = answers({ a: redirect('https://b.example.org') })
  await assert.rejects(new Reporter(nodes[0], 'swr_key', { fetch }).focus(true), {
    code: 'bad_answer', message: /redirect/, isTemporary: true,
  })
  assert.deepEqual(sent, [['a', 'Bearer swr_key', 'manual']])
})
