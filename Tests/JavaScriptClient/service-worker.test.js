// SPDX-License-Identifier: Apache-2.0
// The texts that a person reads in a browser's notification, from the service worker that the guide calls complete.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import vm from 'node:vm'

const root = new URL('../../', import.meta.url)
const source = readFileSync(new URL('web/service-worker.js', root), 'utf8')

/** Passes a payload to the worker, and returns the title and the text of the notification. */
async function shown(payload) {
  const notifications = []
  const handlers = {}
  const context = vm.createContext({
    addEventListener: (name, handler) => (handlers[name] = handler),
    registration: { showNotification: (title, { body }) => notifications.push({ title, body }) },
  })
  vm.runInContext(source, context)
  let done
  handlers.push({ data: { json: () => payload }, waitUntil: (promise) => (done = promise) })
  await done
  assert.equal(notifications.length, 1, 'a browser requires one notification for each push')
  return notifications[0]
}

const cases = [
  ['a text stays', { title: 'Ann', subtitle: 'Tea', body: '50%@' }, 'Ann', 'Tea\n50%@'],
  ['a title of a digest', { 'title-loc-key': '%@ messages in %@', 'title-loc-args': ['3', 'Tea'] }, '3 messages in Tea'],
  ['an argument with a placeholder', { 'title-loc-key': '%@ messages', 'title-loc-args': ['%@'] }, '%@ messages'],
  ['a missing argument', { 'title-loc-key': '%@ messages' }, ' messages'],
  ['a text of the relay', { title: 'Ann', 'loc-key': 'Missed call' }, 'Ann', 'Missed call'],
  ['keys of an app', { 'title-loc-key': 'INVITE_TITLE', 'subtitle-loc-key': 'toString', 'loc-key': 'INVITE' }, 'Stillwire'],
  ['a text wins', { title: 'Ann', 'title-loc-key': 'New message', body: 'hi', 'loc-key': 'Missed call' }, 'Ann', 'hi'],
  ['no alert', undefined, 'Stillwire'],
  ['a bare text', 'hello', 'Stillwire', 'hello'],
]

for (const [name, alert, title, body = 'New message'] of cases) {
  test(`a service worker shows ${name}`, async () => {
    assert.deepEqual(await shown({ aps: { alert } }), { title, body })
  })
}

test('the service worker has all texts of the relay', () => {
  const swift = readFileSync(new URL('Sources/RelayDelivery/PushTexts.swift', root), 'utf8')
  const keys = [...swift.matchAll(/^ {2}case \w+ = "(.+)"$/gm)].map(([, key]) => key)
  assert.ok(keys.length >= 9)
  for (const key of keys) assert.ok(source.includes(`'${key}': '${key}'`), key)
})
