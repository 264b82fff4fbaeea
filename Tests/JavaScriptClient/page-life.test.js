// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchPage } from '../../web/client/page-life.js'
import { StillClock } from '../Apps/JavaScriptDriver/still-clock.js'

/** A page as far as it is watched. */
function page() {
  const page = new EventTarget()
  page.document = new EventTarget()
  page.document.visibilityState = 'visible'
  return page
}

function watch(subject, clock = new StillClock()) {
  const told = []
  const end = watchPage(subject, clock, {
    active: (state) => told.push(state),
    suspended: () => told.push('suspended'),
    resumed: () => told.push('resumed'),
    networkChanged: (isOnline) => told.push(isOnline ? 'online' : 'offline'),
  })
  const show = (visibilityState) => {
    subject.document.visibilityState = visibilityState
    subject.document.dispatchEvent(new Event('visibilitychange'))
  }
  const pass = (seconds) => clock.advance(1000 * seconds, async () => {})
  return { told, end, show, pass }
}

test('without input for two minutes a person is idle, and back with the next one', async () => {
  const subject = page()
  const { told, pass } = watch(subject)
  await pass(119)
  subject.dispatchEvent(new Event('pointermove'))
  await pass(119)
  assert.deepEqual(told, [])
  await pass(1)
  assert.deepEqual(told, ['idle'])
  subject.dispatchEvent(new Event('keydown'))
  assert.deepEqual(told, ['idle', 'active'])
  await pass(120)
  assert.deepEqual(told, ['idle', 'active', 'idle'])
})

test('a hidden page is in the background, and active when it is shown', async () => {
  const { told, show, pass } = watch(page())
  show('hidden')
  await pass(600)
  show('visible')
  assert.deepEqual(told, ['background', 'active'])
  await pass(120)
  assert.deepEqual(told, ['background', 'active', 'idle'])
})

test('a page that begins hidden is in the background', () => {
  const subject = page()
  subject.document.visibilityState = 'hidden'
  assert.deepEqual(watch(subject).told, ['background'])
})

test('freezing and the back-forward cache suspend', () => {
  const subject = page()
  const { told } = watch(subject)
  subject.document.dispatchEvent(new Event('freeze'))
  subject.document.dispatchEvent(new Event('resume'))
  subject.dispatchEvent(new Event('pagehide'))
  subject.dispatchEvent(new Event('pageshow'))
  assert.deepEqual(told, ['suspended', 'resumed', 'suspended', 'resumed'])
})

test('a network that comes or goes is told', () => {
  const subject = page()
  const { told } = watch(subject)
  subject.dispatchEvent(new Event('offline'))
  subject.dispatchEvent(new Event('online'))
  assert.deepEqual(told, ['offline', 'online'])
})

test('nothing is told after the end', async () => {
  const subject = page()
  const { told, end, show, pass } = watch(subject)
  end()
  show('hidden')
  subject.dispatchEvent(new Event('pagehide'))
  subject.dispatchEvent(new Event('online'))
  await pass(600)
  assert.deepEqual(told, [])
})
