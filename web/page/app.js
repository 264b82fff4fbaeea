// SPDX-License-Identifier: Apache-2.0
// Starts the demo: its people, the relay's view and the story. Depends on the other modules of this folder.
import { registerCategories } from './categories.js'
import './guided-story.js'
import { Person } from './person.js'
import './person-panel.js'
import { ownPlace } from './place.js'
import './relay-view.js'

const { place, step } = ownPlace()
const part = (name) => document.querySelector(`[data-part="${name}"]`)
const names = new Map(['Alice', 'Bob', 'Carol'].map((name) => [`${name.toLowerCase()}-${place}`, name]))
const [alice, bob, carol] = [...names.keys()]
const hasCarol = `stillwire.carol.${place}`

let frames = null
const early = []
let toastEnd = 0

function enter(user) {
  const person = new Person({ user, home: `demo.${place}`, names, hasTablet: user === bob })
  const panel = document.createElement('person-panel')
  if (user === alice) part('relay').before(panel)
  else part('stage').append(panel)
  panel.person = person
  part('relay').follow(person)
  person.addEventListener('wire', ({ detail }) => wire(person.name, { ...detail, time: new Date() }))
  person.addEventListener('complaint', ({ detail }) => complain(detail))
  person.connect()
  person.tablet?.start().catch((error) => complain(`The tablet was not registered: ${error.message}`))
  return panel
}

function wire(name, entry) {
  if (frames) return frames.add(name, entry)
  early.push([name, entry])
  if (early.length > 200) early.shift()
}

function complain(text) {
  part('toast').textContent = text
  clearTimeout(toastEnd)
  toastEnd = setTimeout(() => (part('toast').textContent = ''), 6_000)
}

function addCarol() {
  sessionStorage.setItem(hasCarol, 'true')
  part('add').hidden = true
  document.body.classList.add('has-three')
  return enter(carol)
}

function begin() {
  const panels = [enter(alice), enter(bob)]
  part('add').addEventListener('click', () => addCarol().part('text').focus())
  if (sessionStorage.getItem(hasCarol)) addCarol()
  part('story').tell(panels, step)
}

const refusal = await registerCategories().catch((error) => error)
if ([401, 403].includes(refusal?.status)) {
  part('needs-token').hidden = false
  part('story').hidden = part('stage').hidden = true
} else {
  if (refusal) complain(`Notifications have no actions: ${refusal.message}`)
  begin()
}

// Only `make run-cluster` prints an address with this parameter.
if (new URLSearchParams(location.search).has('cluster')) await import('./kill-leader.js')

// Few visitors open the list of frames, so its module is loaded only then.
part('frames').addEventListener('toggle', async () => {
  const { WireLog } = await import('./wire-log.js')
  if (frames) return
  frames = new WireLog(part('frames'), place)
  for (const [name, entry] of early.splice(0)) frames.add(name, entry)
})
