// SPDX-License-Identifier: Apache-2.0
// The room watcher at /watch/. Depends on the JavaScript client and on helpers of the demo.
import { Stillwire } from '../client/stillwire.js'
import { timeOfDay } from '../page/clock.js'
import { arrange, element } from '../page/dom.js'
import { WireLog } from '../page/wire-log.js'

const limit = 500
const part = (name) => document.querySelector(`[data-part="${name}"]`)
const form = part('form')
const wireLog = new WireLog(part('frames'), '')

let relay = null
let room = null

// The address contains the room, so that a link leads to it. It never contains a token.
const showRoom = () => (form.elements.room.value = decoded(location.hash.slice(1)))
showRoom()
addEventListener('hashchange', showRoom)
part('clear').addEventListener('click', () => wireLog.clear())

form.addEventListener('submit', (event) => {
  event.preventDefault()
  stop()
  const { room: name, token, user } = form.elements
  history.replaceState(null, '', `#${encodeURIComponent(name.value)}`)
  start(name.value, token.value.trim(), user.value.trim() || (token.value ? '' : 'watcher'))
})
part('stop').addEventListener('click', () => {
  stop()
  tell('Not connected.')
  form.querySelector('[type="submit"]').focus()
})
part('send-form').addEventListener('submit', async (event) => {
  event.preventDefault()
  const field = event.target.elements.body
  if (!room || !field.value.trim()) return
  try {
    await room.send(parsed(field.value))
    field.value = ''
  } catch (error) {
    add('error', `not sent: ${error.message}`)
  }
})

function start(name, token, user) {
  const url = new URL('../v1/connect', document.baseURI)
  url.protocol = url.protocol.replace('http', 'ws')
  relay = new Stillwire(url, token ? { token, hello: { device: 'watch' } } : { hello: { user, device: 'watch' } })
  relay.setActivity('background')
  room = relay.room(name, { history: 100 })
  relay.addEventListener('state', ({ detail: { state, reason } }) => tell(stateText(state, reason)))
  relay.addEventListener('frame', ({ detail: { isOwn, text, frame, answers } }) => {
    // Hides the token, because other people may see the screen.
    const shown = frame.token ? JSON.stringify({ ...frame, token: '…' }) : text
    wireLog.add(relay?.user || user || 'nobody', { kind: isOwn ? 'sent' : 'received', name: frame.type, text: shown, answers, time: new Date() })
  })
  room.addEventListener('presence', ({ detail }) => people(detail))
  room.addEventListener('message', ({ detail: { seq, from, time, body, deleted } }) => {
    add(`${seq}`, deleted ? '(deleted)' : JSON.stringify(body), from, time)
  })
  for (const type of ['edited', 'deleted', 'signal', 'member', 'receipt', 'delivery', 'reset', 'left', 'room']) {
    room.addEventListener(type, ({ detail }) => add(type, JSON.stringify(detail), detail?.from ?? detail?.user))
  }
  part('events').replaceChildren()
  part('people').replaceChildren()
  wireLog.clear()
  part('stop').disabled = false
  relay.addEventListener('error', ({ detail: { code, message } }) => add('error', `${code}: ${message}`))
  room.join().catch((error) => relay?.state === 'open' && tell(`Not in the room: ${error.message}`))
  relay.connect()
}

function stop() {
  relay?.close()
  relay = room = null
  part('people').replaceChildren()
  part('stop').disabled = true
}

function tell(text) {
  part('state').textContent = text
}

function stateText(state, reason) {
  const texts = {
    open: `Connected to ${location.host}.`,
    connecting: 'Connecting…',
    waiting: 'Connection lost, reconnecting…',
    refused: `Refused: ${reason}`,
  }
  return texts[state] ?? 'Not connected.'
}

function people({ members, memberCount, onlineCount }) {
  const cells = (entry) => [
    entry.user,
    entry.name ?? '',
    entry.online ? 'yes' : 'no',
    entry.activity ?? '',
    { true: 'silenced', false: 'not silenced' }[entry.isFocused] ?? 'unknown',
    entry.lastSeen ? timeOfDay(entry.lastSeen) : '',
  ]
  const rows = Object.values(members ?? {}).map((entry) =>
    element('tr', { 'data-user': entry.user }, ...cells(entry).map((text) => element('td', { dir: 'auto' }, text)))
  )
  if (!members) rows.push(element('tr', {}, element('td', { colspan: 6 }, `${onlineCount} of ${memberCount} online`)))
  arrange(part('people'), rows)
}

function add(kind, text, from = '', time = Date.now()) {
  const list = part('events')
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 48
  const moment = element('time', {}, new Date(time).toTimeString().slice(0, 8))
  const words = [element('b', {}, kind), element('span', {}, from), element('code', { dir: 'auto' }, text)]
  list.append(element('li', { 'data-kind': kind }, moment, ...words))
  while (list.children.length > limit) list.firstElementChild.remove()
  if (isAtEnd) list.scrollTop = list.scrollHeight
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
