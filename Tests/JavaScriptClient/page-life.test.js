// SPDX-License-Identifier: Apache-2.0
// Tests page-life.js: activity, suspension and network changes of a page.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchPage } from '../../web/client/page-life.js'
import { StillClock } from '../Apps/JavaScriptDriver/still-clock.js'

/** A page with only the parts that `watchPage` uses. */
function page() {
  const page = new EventTarget()
  page.document = new EventTarget()
  page.document.visibilityState = 'visible'
  return page
}

function watch(subject, clock = new StillClock()) {
  const events = []
  const end = watchPage(subject, clock, {
    active: (state) => events.push(state),
    suspended: () => events.push('suspended'),
    resumed: () => events.push('resumed'),
    networkChanged: (isOnline) => events.push(isOnline ? 'online' : 'offline'),
  })
  const show = (visibilityState) => {
    subject.document.visibilityState = visibilityState
    subject.document.dispatchEvent(new Event('visibilitychange'))
  }
  const pass = (seconds) => clock.advance(1000 * seconds, async () => {})
  const step = (seconds) => clock.step(1000 * seconds)
  return { events, end, show, pass, step }
}

test('a person is idle after two minutes without input, and active after the next input', async () => {
  const subject = page()
  const { events, pass } = watch(subject)
  await pass(119)
  subject.dispatchEvent(new Event('pointermove'))
  await pass(119)
  assert.deepEqual(events, [])
  await pass(1)
  assert.deepEqual(events, ['idle'])
  subject.dispatchEvent(new Event('keydown'))
  assert.deepEqual(events, ['idle', 'active'])
  await pass(120)
  assert.deepEqual(events, ['idle', 'active', 'idle'])
})

test('a step of the wall clock does not change when a person is idle', async () => {
  for (const by of [-3600, 600, 40 * 86_400]) {
    const subject = page()
    const { events, pass, step } = watch(subject)
    await pass(10)
    subject.dispatchEvent(new Event('pointermove'))
    step(by)
    await pass(119)
    assert.deepEqual(events, [])
    await pass(1)
    assert.deepEqual(events, ['idle'])
  }
})

test('a hidden page is in the background, and a shown page is active', async () => {
  const { events, show, pass } = watch(page())
  show('hidden')
  await pass(600)
  show('visible')
  assert.deepEqual(events, ['background', 'active', 'resumed'])
  await pass(120)
  assert.deepEqual(events, ['background', 'active', 'resumed', 'idle'])
})

test('a page that is hidden from the start is in the background', () => {
  const subject = page()
  subject.document.visibilityState = 'hidden'
  assert.deepEqual(watch(subject).events, ['background'])
})

test('a frozen page and a page in the back-forward cache are suspended', () => {
  const subject = page()
  const { events } = watch(subject)
  subject.document.dispatchEvent(new Event('freeze'))
  subject.document.dispatchEvent(new Event('resume'))
  subject.dispatchEvent(new Event('pagehide'))
  subject.dispatchEvent(new Event('pageshow'))
  assert.deepEqual(events, ['suspended', 'resumed', 'suspended', 'resumed'])
})

test('the listener is notified of network changes', () => {
  const subject = page()
  const { events } = watch(subject)
  subject.dispatchEvent(new Event('offline'))
  subject.dispatchEvent(new Event('online'))
  assert.deepEqual(events, ['offline', 'online'])
})

test('the listener is not notified after the end', async () => {
  const subject = page()
  const { events, end, show, pass } = watch(subject)
  end()
  show('hidden')
  subject.dispatchEvent(new Event('pagehide'))
  subject.dispatchEvent(new Event('online'))
  await pass(600)
  assert.deepEqual(events, [])
})
