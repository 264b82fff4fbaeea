// SPDX-License-Identifier: Apache-2.0
// Tests the quotes of replies after changes of the quoted message.
import assert from 'node:assert/strict'
import test from 'node:test'
import { quoteAfter } from '../../web/client/stillwire.js'

const quote = Object.freeze({ seq: 1, from: 'ann', preview: 'tea' })
const edited = (body, seq = 1) => ({ type: 'edited', room: 'tea', seq, body })

test('an edit of the quoted message changes the preview', () => {
  assert.deepEqual(quoteAfter(quote, edited({ text: 'coffee' })), { ...quote, preview: 'coffee' })
  assert.deepEqual(quoteAfter(quote, edited('coffee')), { ...quote, preview: 'coffee' })
  for (const body of [undefined, null, 7, {}, { text: 7 }]) {
    assert.deepEqual(quoteAfter(quote, edited(body)), { seq: 1, from: 'ann' })
  }
})

test('a preview has at most 160 characters', () => {
  const shown = (text) => quoteAfter(quote, edited(text)).preview
  for (const character of ['x', '🫖', 'e\u0301']) {
    assert.equal(shown(character.repeat(160)), character.repeat(160))
    assert.equal(shown(character.repeat(161)), `${character.repeat(159)}…`)
    assert.equal(shown(`x${character.repeat(9_999)}`), `x${character.repeat(158)}…`)
  }
})

test('a preview has at most 1,024 bytes', () => {
  const shown = (text) => quoteAfter(quote, edited(text)).preview
  const family = '👨‍👩‍👧‍👦' // 25 bytes
  assert.equal(shown(family.repeat(40) + 'x'.repeat(24)), family.repeat(40) + 'x'.repeat(24))
  assert.equal(shown(family.repeat(41)), `${family.repeat(40)}…`)
  assert.equal(shown(`x${'\u0301'.repeat(999)}`), '…')
})

test('a deletion of the quoted message removes the preview', () => {
  assert.deepEqual(quoteAfter(quote, { type: 'deleted', seq: 1 }), { seq: 1, from: 'ann', deleted: true })
})

test('a quote without a preview stays without one', () => {
  const closed = Object.freeze({ seq: 1, from: 'ann' })
  assert.equal(quoteAfter(closed, edited('coffee')), closed)
})

test('other events change nothing', () => {
  for (const event of [edited('coffee', 2), { type: 'deleted', seq: 2 }, { type: 'reactions', seq: 1 }, {}]) {
    assert.equal(quoteAfter(quote, event), quote)
  }
  for (const event of [edited('coffee'), { type: 'edited' }]) assert.equal(quoteAfter(undefined, event), undefined)
})
