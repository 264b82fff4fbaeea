// SPDX-License-Identifier: Apache-2.0
import { Guide } from './guide.js'
import { Person } from './person.js'
import { PersonView } from './person-view.js'
import { ownPlace } from './place.js'
import { WireLog } from './wire-log.js'

const place = ownPlace()
const room = `demo.${place}`
const users = { Alice: `alice-${place}`, Bob: `bob-${place}` }
const alice = new Person({ user: users.Alice, name: 'Alice', peer: users.Bob, room })
const bob = new Person({ user: users.Bob, name: 'Bob', peer: users.Alice, room })

const template = document.getElementById('person')
const aliceView = new PersonView(alice, 'Bob', template)
const bobView = new PersonView(bob, 'Alice', template)
document.querySelector('[data-part="stage"]').append(aliceView.root, bobView.root)
new Guide(document.querySelector('.guide'), alice, bob, { aliceView, bobView })

const wireLog = new WireLog(document.querySelector('.wire'), place)
const toast = document.querySelector('[data-part="toast"]')
let toastEnd = 0
for (const person of [alice, bob]) {
  person.addEventListener('wire', ({ detail }) => wireLog.add(person.name, detail))
  person.addEventListener('complaint', ({ detail }) => {
    toast.textContent = detail
    clearTimeout(toastEnd)
    toastEnd = setTimeout(() => (toast.textContent = ''), 6_000)
  })
  person.connect()
}
