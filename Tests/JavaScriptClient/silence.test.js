// SPDX-License-Identifier: Apache-2.0
// Tests how long the JavaScript client waits for a silent relay: it sees only whole frames, so a silence may be a large
// frame on a slow line. Tests/Conformance has the times of a fast line, which both clients share.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Silence } from '../../web/client/silence.js'

const s = 1_000
const several = { heartbeat: 25 * s, pongTimeout: 10 * s, frame: 65_536, areSeveral: true, trustAt: 0 }
const single = { ...several, areSeveral: false }
const doubtful = { ...several, trustAt: 5 * s }
/** Lines of 5 kB/s and of 1 MB/s. */
const slow = 5_000
const fast = 1_000_000
/** The largest frames: an event, and the reply to a request for a list. */
const event = 65_536 + 16_384
const list = 393_216

/** The seconds for a frame on a line with this rate, with a round trip. */
const time = (frame, rate) => 1 + frame / rate

/** A request without a reply. The size of a small one does not matter. */
const asked = (type, at, size = 0) => ({ type, askedAt: at * s, size })

/** A silence that begins at 0, on a line with this rate. */
function silent(options, rate) {
  const silence = new Silence(options, 0)
  silence.measured(rate, s)
  return silence
}

for (const [name, options, rate, waiting, ping, lost] of [
  ['one address', single, fast, [], 25, 35],
  ['one address, and a request', single, fast, [asked('send', 1)], 25, 35],
  ['one address, and a slow line', single, slow, [], 25, 25 + time(event, slow)],
  ['one address, and a list on a slow line', single, slow, [asked('history', 1)], 25, 25 + time(list, slow)],
  ['no request', several, fast, [], 25, 29],
  ['a request', several, fast, [asked('send', 1)], 4, 5],
  ['a request after half of the heartbeat', several, fast, [asked('send', 12)], 15, 16],
  ['a request shortly before the heartbeat', several, fast, [asked('send', 24)], 25, 28],
  ['a request before the newest frame', several, fast, [asked('join', -9)], 3, 4],
  ['a short pongTimeout', { ...several, pongTimeout: 2 * s }, fast, [], 25, 27],
  ['a slow line', several, slow, [asked('send', 1)], 4, 1 + time(event, slow)],
  ['a line of 12 kB/s', several, 12_000, [asked('send', 1)], 4, 1 + time(event, 12_000)],
  ['a line of 1 kB/s', several, 1_000, [asked('send', 1)], 4, 1 + time(event, slow)],
  ['a join on a slow line', several, slow, [asked('join', 1)], 4, 1 + time(list, slow)],
  ['a list among other requests', several, 50_000, [asked('send', 0), asked('rooms', 0)], 3, time(list, 50_000)],
  ['a relay with larger frames', { ...several, frame: 983_616 }, 100_000, [asked('send', 0)], 3, 11],
  ['a large request, which takes time to arrive', several, fast, [asked('send', 0, 50_000)], 3, time(event, fast) + 10],
  ['the first 5 s after a silent session', doubtful, fast, [asked('send', 4)], 7, 4 + time(event, slow)],
  ['5 s after a silent session', doubtful, fast, [asked('send', 5)], 8, 9],
]) {
  test(`the times of a silence: ${name}`, () => {
    const silence = silent(options, rate)
    for (const [step, at] of [['ping', ping], ['lost', lost]]) {
      assert.equal(Math.round(silence.due(waiting)), Math.round(at * s))
      assert.equal(silence.step(at * s - 1, waiting), undefined)
      assert.equal(silence.step(at * s, waiting), step)
    }
  })
}

for (const [name, options, frames, ping, lost] of [
  ['a stream of 5 s', several, [1, 2, 3, 4, 5], 6, 9],
  ['a stream that ends early', several, [1, 2, 3, 4], 29, 33],
  ['a pause in the stream', several, [1, 2, 3.001, 4, 5, 6, 7, 8], 33, 37],
  ['5 s after a pause in the stream', several, [1.001, 2, 3, 4, 5, 6, 6.001], 7.001, 10.001],
  ['a stream, and one address', single, [1, 2, 3, 4, 5], 30, 40],
  ['a stream, and a pongTimeout of 3.5 s', { ...several, pongTimeout: 3.5 * s }, [1, 2, 3, 4, 5], 6, 9],
  ['a stream, and a pongTimeout of 2 s', { ...several, pongTimeout: 2 * s }, [1, 2, 3, 4, 5], 6, 8],
  ['a stream on a slow line', { ...several, trustAt: Infinity }, [1, 2, 3, 4, 5], 6, 5 + time(event, slow)],
]) {
  test(`the times of a silence: ${name}`, () => {
    const silence = silent(options, fast)
    const reports = frames.map((at) => silence.received(at * s))
    // The timer of the connection is set again for the first frame of a steady stream only.
    assert.deepEqual(reports.filter(Boolean), ping === frames.at(-1) + 1 ? [true] : [])
    for (const [step, at] of [['ping', ping], ['lost', lost]]) {
      assert.equal(Math.round(silence.due([])), Math.round(at * s))
      assert.equal(silence.step(at * s - 1, []), undefined)
      assert.equal(silence.step(at * s, []), step)
    }
  })
}

test('a ping long after a stream has the usual time', () => {
  const silence = silent(several, fast)
  for (let at = 0; at <= 8; at++) silence.received(at * s)
  assert.equal(silence.step(100 * s, []), 'ping')
  assert.equal(silence.due([]), 104 * s)
})

test('after the answer to a ping, the next step may be earlier', () => {
  const silence = silent(several, fast)
  for (let at = 0; at <= 8; at++) silence.received(at * s)
  assert.equal(silence.probe(8.1 * s), true)
  assert.equal(silence.due([]), 12 * s)
  assert.equal(silence.received(8.6 * s), true)
  assert.equal(silence.due([]), 9.6 * s)
  assert.equal(silence.received(8.7 * s), false)
})

test('a pause in a stream costs one ping', () => {
  const silence = silent(several, fast)
  for (let at = 0; at <= 8; at++) silence.received(at * s)
  assert.equal(silence.step(9 * s, []), 'ping')
  silence.received(9.1 * s)
  assert.equal(silence.due([]), 34.1 * s)
})

test('a line that becomes slower loses one connection at most', () => {
  const waiting = [asked('send', 0)]
  const [first, next] = [silent(several, fast), silent(doubtful, fast)]
  // The largest frame begins to arrive on a line of 5 kB/s.
  for (const silence of [first, next]) assert.equal(silence.step(3 * s, waiting), 'ping')
  assert.equal(first.step(4.5 * s, waiting), 'lost')
  assert.equal(next.step(4.5 * s, waiting), undefined)
  assert.equal(next.step(time(event, slow) * s - 1, waiting), undefined)
})

test('a frame keeps the connection', () => {
  const silence = silent(several, fast)
  const waiting = [asked('send', 0)]
  assert.equal(silence.step(3 * s, waiting), 'ping')
  silence.received(3.5 * s)
  assert.equal(silence.due(waiting), 6.5 * s)
  assert.equal(silence.due([]), 28.5 * s)
})

test('the line has the highest rate that a reply has shown, until a large reply shows a lower one', () => {
  const silence = silent(several, fast)
  const lost = () => {
    silence.probe(0)
    return Math.round(silence.due([]))
  }
  silence.measured(100, s)
  assert.equal(lost(), 4 * s)
  silence.measured(16_384, 2 * s)
  assert.equal(lost(), 11 * s)
  silence.measured(12_000, s)
  assert.equal(lost(), Math.round(s * time(event, 12_000)))
})

test('a probe is sent once, and a silent relay has a second for its answer', () => {
  const silence = silent(several, fast)
  const waiting = [asked('send', 0)]
  assert.equal(silence.probe(s), true)
  assert.equal(silence.probe(s), false)
  assert.equal(silence.due(waiting), 4 * s)
  const late = silent(several, fast)
  late.probe(3.9 * s)
  assert.equal(late.due(waiting), 4.9 * s)
})

test('after a pause of the page, the client reads the frames that have arrived', () => {
  const silence = silent(several, fast)
  const waiting = [asked('send', 0)]
  assert.equal(silence.step(60 * s, waiting), 'ping')
  assert.equal(silence.step(120 * s, waiting), undefined)
  assert.equal(silence.due(waiting), 121 * s)
  silence.received(120.5 * s)
  assert.equal(silence.step(123.5 * s, waiting), 'ping')
  assert.equal(silence.step(180 * s, waiting), undefined)
  // A browser calls the timers of a hidden page once a minute.
  assert.equal(silence.step(240 * s, waiting), 'lost')
})
