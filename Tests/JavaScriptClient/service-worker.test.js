// SPDX-License-Identifier: Apache-2.0
// The notifications that a person sees in a browser, from the service worker that the guide calls complete.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import vm from 'node:vm'

const root = new URL('../../', import.meta.url)
const source = readFileSync(new URL('web/service-worker.js', root), 'utf8')

/** A browser with the worker. A notification replaces the one with its tag, as the specification requires. */
class Browser {
  notifications = []
  registration
  #handlers = {}

  constructor(navigator = {}) {
    const registration = (this.registration = {
      getNotifications: async () => [...this.notifications],
      showNotification: async (title, options) => {
        const left = this.notifications.filter(({ tag }) => !options.tag || tag !== options.tag)
        const shown = { title, ...structuredClone(options), close: () => this.#close(shown) }
        this.notifications = [...left, shown]
      },
    })
    const addEventListener = (name, handler) => (this.#handlers[name] = handler)
    vm.runInContext(source, vm.createContext({ addEventListener, registration, navigator }))
  }

  /** The texts of the notifications, oldest first. */
  get bodies() {
    return this.notifications.map(({ body }) => body)
  }

  /** Passes a payload to the worker. */
  async push(payload) {
    let done
    this.#handlers.push({ data: { json: () => structuredClone(payload) }, waitUntil: (promise) => (done = promise) })
    await done
  }

  #close(shown) {
    this.notifications = this.notifications.filter((other) => other !== shown)
  }
}

/** Passes a payload to the worker, and returns the title and the text of the notification. */
async function shown(payload) {
  const browser = new Browser()
  await browser.push(payload)
  assert.equal(browser.notifications.length, 1, 'a browser requires one notification for each push')
  const [{ title, body }] = browser.notifications
  return { title, body }
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

/** A push for an account about a message of the room `tea`. */
function about(seq, body, { recipient = 'ann', replaces, tag = `tea/${seq}/${recipient}`, ...more } = {}) {
  const origin = { recipient, ...(replaces && { replaces: { room: 'tea', seq: replaces } }) }
  const field = more.digest ? 'push' : 'communication'
  return { aps: { alert: { body } }, [field]: origin, message: { room: 'tea', epoch: 'e', seq }, tag, ...more }
}

const tags = [
  ['an edit', [about(1, 'one'), about(2, 'two'), about(1, 'edited')], ['two', 'edited']],
  ['a later message with its tag', [about(1, 'one', { tag: 'newest' }), about(2, 'two', { tag: 'newest' })], ['two']],
  [
    'a changed digest',
    [about(9, '3 messages', { digest: [] }), about(8, '2 messages', { digest: [], tag: 'tea/9/ann', replaces: 9 })],
    ['2 messages'],
  ],
  ['none of another account', [about(1, 'to Ann'), about(1, 'to Eve', { recipient: 'eve' })], ['to Ann', 'to Eve']],
]

for (const [name, pushes, bodies] of tags) {
  test(`a notification replaces the one with its tag: ${name}`, async () => {
    const browser = new Browser()
    for (const push of pushes) await browser.push(push)
    assert.deepEqual(browser.bodies, bodies)
  })
}

const digest = [{ room: 'tea', seq: 3, count: 2 }, { room: 'den', seq: 5, count: 1 }]
const [tea, den] = [(seq) => ({ room: 'tea', seq }), (seq) => ({ room: 'den', seq })]
const changed = about(2, 'digest', { digest: [tea(2)], replaces: 3 })
const order = { aps: { alert: 'order' }, push: { recipient: 'ann' } }
const invitation = {
  aps: { alert: { title: 'Ann', 'loc-key': '%@ wants to write to you', 'loc-args': ['Ann'] } },
  push: { recipient: 'ann', replaces: { room: 'den', seq: 0 } },
  invitation: { room: 'den', kind: 'direct' },
}
const toEve = about(1, 'one', { recipient: 'eve' })
const removals = [
  ['a read', [about(1, 'one'), about(2, 'two'), about(3, 'three')], { read: [tea(2)] }, ['three']],
  ['a read of another room', [about(1, 'one')], { read: [den(9)] }, ['one']],
  ['a removal', [about(1, 'one'), about(2, 'two')], { removed: [tea(1)] }, ['two']],
  ['a removal for another account', [toEve], { removed: [tea(1)], read: [tea(9)] }, ['one']],
  ['a digest that is partly read', [about(3, 'digest', { digest })], { read: [tea(3)] }, ['digest']],
  ['a digest that is read', [about(3, 'digest', { digest })], { read: [tea(3), den(5)] }, []],
  ['a changed digest under its first name', [changed], { removed: [tea(3)] }, []],
  ['a changed digest under another name', [changed], { removed: [tea(2)] }, ['digest']],
  ['a changed digest that is read', [changed], { read: [tea(2)] }, []],
  ['an invitation that has ended', [invitation], { removed: [den(0)] }, []],
  ['an invitation is no message', [invitation], { read: [den(9)] }, ['Ann wants to write to you']],
  ['a notification without a message', [order], { read: [tea(9)] }, ['order']],
]

for (const [name, pushes, removal, left] of removals) {
  test(`a push removes notifications: ${name}`, async () => {
    const browser = new Browser()
    for (const push of pushes) await browser.push(push)
    await browser.push(about(20, 'next', removal))
    assert.deepEqual(browser.bodies, [...left, 'next'])
  })
}

test('a push sets the badge of the app where the browser has one', async () => {
  const badges = []
  const badged = (badge) => ({ ...about(1, 'one'), aps: { alert: 'one', ...(badge !== undefined && { badge }) } })
  const navigator = { setAppBadge: async (badge) => badges.push(badge) }
  const browser = new Browser(navigator)
  for (const badge of [3, undefined, 0]) await browser.push(badged(badge))
  assert.deepEqual(badges, [3, 0])
  for (const other of [{}, { setAppBadge: () => Promise.reject(new Error('not allowed')) }]) {
    const plain = new Browser(other)
    await plain.push(badged(3))
    assert.deepEqual(plain.bodies, ['one'])
  }
})

test('a notification of another worker does not stop a push', async () => {
  const browser = new Browser()
  browser.notifications.push({ title: 'strange', body: 'strange', data: null })
  await browser.push(about(1, 'one', { read: [tea(9)] }))
  assert.deepEqual(browser.bodies, ['strange', 'one'])
})

test('the service worker has all texts of the relay', () => {
  const swift = readFileSync(new URL('Sources/RelayProtocol/PushTextKey.swift', root), 'utf8')
  const keys = [...swift.matchAll(/^ {2}case \w+ = "(.+)"$/gm)].map(([, key]) => key)
  assert.ok(keys.length >= 12)
  for (const key of keys) assert.ok(source.includes(`'${key}': '${key}'`), key)
})

test('a push is shown if the browser does not list the notifications', async () => {
  const browser = new Browser()
  browser.registration.getNotifications = () => Promise.reject(new Error('not allowed'))
  await browser.push({ aps: { alert: { body: 'hi' } } })
  assert.deepEqual(browser.bodies, ['hi'])
})
