// SPDX-License-Identifier: Apache-2.0
// Tests the numbers of the changes that the app has.
import assert from 'node:assert/strict'
import test from 'node:test'
import { changesAfter, changesAfterJoin, hasChange, noChanges } from '../../web/client/changes.js'

const arrived = (changes, ...numbers) => numbers.reduce(changesAfter, changes)

test('each change arrives once', () => {
  const joined = changesAfterJoin({ change: 3 })
  assert.ok(hasChange(joined, 3) && !hasChange(joined, 4))
  const after = changesAfter(joined, 4)
  assert.equal(after.newest, 4)
  assert.equal(changesAfter(after, 4), after)
})

test('the position stays before a change whose reply is missing', () => {
  const early = arrived(changesAfterJoin({ change: 0 }), 2, 3, 5)
  assert.deepEqual(early, { newest: 0, ahead: [2, 3, 5] })
  assert.deepEqual(changesAfter(early, 1), { newest: 3, ahead: [5] })
  assert.deepEqual(arrived(early, 1, 4), { newest: 5, ahead: [] })
})

test('a reply may contain changes after its number', () => {
  const reply = { change: 3, changes: [{ change: 2 }, 7, null, { change: 5 }, { change: 4 }] }
  assert.deepEqual(changesAfterJoin(reply), { newest: 5, ahead: [] })
})

test('without numbers every change is new', () => {
  for (const reply of [{}, { change: 'x' }, { change: -1 }, { changes: 7 }]) {
    assert.equal(changesAfterJoin(reply), noChanges)
  }
  assert.equal(changesAfter(noChanges, 1), noChanges)
  assert.equal(hasChange(noChanges, 1), false)
  assert.equal(hasChange(changesAfterJoin({ change: 3 }), undefined), false)
})

test('the number of stored changes is limited', () => {
  let changes = changesAfterJoin({ change: 0 })
  for (let number = 2; number <= 302; number += 1) changes = changesAfter(changes, number)
  assert.equal(changes.ahead.length, 300)
  assert.equal(hasChange(changes, 302), false)
  assert.equal(changesAfter(changes, 1).newest, 301)
})
