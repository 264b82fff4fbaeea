// SPDX-License-Identifier: Apache-2.0
// Tests order.js: messages arrive in any order, and are shown in order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestedChange } from '../../web/client/changes.js'
import { hasGap, nowhere, orderAfterChange, orderAfterJoin, orderAfterMessage, position } from '../../web/client/order.js'

const messages = (...seqs) => seqs.map((seq) => ({ seq }))
const reply = (seq, seqs = [], more = {}) => ({ epoch: 'e', seq, messages: messages(...seqs), ...more })
const at = (seq) => orderAfterJoin(nowhere, reply(seq)).order

function shown(order, ...seqs) {
  const seen = []
  for (const message of messages(...seqs)) {
    const next = orderAfterMessage(order, message)
    order = next.order
    seen.push(...next.shown.map(({ seq }) => seq))
  }
  return { order, seen }
}

test('messages that arrive in any order are shown in order', () => {
  // All 120 permutations of five messages, each of them twice.
  const permute = (rest, done = []) =>
    rest.length === 0 ? [done] : rest.flatMap((seq) => permute(rest.filter((other) => other !== seq), [...done, seq]))
  for (const seqs of permute([4, 5, 6, 7, 8])) {
    const { order, seen } = shown(at(3), ...seqs.flatMap((seq) => [seq, seq]))
    assert.deepEqual(seen, [4, 5, 6, 7, 8], `arrived as ${seqs}`)
    assert.deepEqual([order.seq, order.held.length], [8, 0])
  }
})

test('a held message is a gap, unless a send may fill it', () => {
  const { order } = shown(at(3), 5)
  assert.equal(hasGap(at(3), false), false)
  assert.equal(hasGap(order, false), true)
  assert.equal(hasGap(order, true), false)
})

test('a change of a message changes the quotes of held replies', () => {
  const replies = [{ seq: 5, quote: { seq: 2, from: 'ann', preview: 'Tea?' } }, { seq: 6 }]
  const order = replies.reduce((order, message) => orderAfterMessage(order, message).order, at(3))
  for (const change of [{ type: 'deleted', seq: 3 }, { type: 'deleted', seq: 5 }]) {
    assert.equal(orderAfterChange(order, change), order)
  }
  const { order: next, shown: seen } = orderAfterMessage(orderAfterChange(order, { type: 'deleted', seq: 2 }), { seq: 4 })
  assert.deepEqual(seen.map(({ quote }) => quote), [undefined, { seq: 2, from: 'ann', deleted: true }, undefined])
  assert.deepEqual([next.seq, next.held], [6, []])
})

test('the request of an edit or a deletion is a change of held replies, too', () => {
  const { order } = orderAfterMessage(at(3), { seq: 5, quote: { seq: 2, from: 'ann', preview: 'Tea?' } })
  const quote = (type, fields) => orderAfterChange(order, requestedChange(type, fields)).held[0].quote
  assert.deepEqual(quote('edit', { room: 'tea', seq: 2, body: { text: 'Coffee?' } }), { seq: 2, from: 'ann', preview: 'Coffee?' })
  assert.deepEqual(quote('delete', { room: 'tea', seq: 2 }), { seq: 2, from: 'ann', deleted: true })
  assert.deepEqual(quote('delete', { room: 'tea', seq: 3 }), { seq: 2, from: 'ann', preview: 'Tea?' })
  for (const type of ['pin', 'react', 'send']) assert.equal(requestedChange(type, { seq: 2 }), undefined)
})

test('the number of held messages is limited, also during a send', () => {
  const seqs = Array.from({ length: 301 }, (_, index) => 5 + index)
  assert.equal(hasGap(shown(at(3), ...seqs.slice(0, 300)).order, true), false)
  assert.equal(hasGap(shown(at(3), ...seqs).order, true), true)
})

test('a recovery continues, and forgets the held messages', () => {
  const { order } = shown(at(3), 6)
  const next = orderAfterJoin(order, reply(6, [3, 4, 5, 6, 6], { recovered: true }))
  assert.deepEqual(next.shown, messages(4, 5, 6))
  assert.deepEqual([next.reset, next.order.seq, next.order.held], [undefined, 6, []])
})

for (const [name, answer, reason] of [
  ['too old a position', reply(900, [899, 900], { recovered: false }), 'gap'],
  ['a position beyond the newest', reply(2, [1, 2], { recovered: false }), 'gap'],
  ['another epoch', { ...reply(2, [1, 2], { recovered: false }), epoch: 'f' }, 'epoch'],
  ['another epoch that claims to be recovered', { ...reply(2, [1, 2], { recovered: true }), epoch: 'f' }, 'epoch'],
]) {
  test(`${name} resets the room, and its first message has a gap mark`, () => {
    const next = orderAfterJoin(at(3), answer)
    assert.equal(next.reset, reason)
    assert.deepEqual(next.shown.map(({ isAfterGap }) => isAfterGap), [true, undefined])
    assert.deepEqual(position(next.order), { epoch: answer.epoch, seq: answer.seq })
  })
}

test('the gap mark waits for the next message', () => {
  const { order } = orderAfterJoin(at(3), reply(900, [], { recovered: false }))
  const again = orderAfterJoin(order, reply(900, [], { recovered: true }))
  const { shown: first, order: next } = orderAfterMessage(again.order, { seq: 901 })
  assert.deepEqual(first, [{ seq: 901, isAfterGap: true }])
  assert.deepEqual(orderAfterMessage(next, { seq: 902 }).shown, [{ seq: 902 }])
})

test('a first join is not a gap', () => {
  const { shown: first, reset } = orderAfterJoin(nowhere, reply(5, [4, 5]))
  assert.deepEqual([first, reset], [messages(4, 5), undefined])
})
