// SPDX-License-Identifier: Apache-2.0
import { isSilenced } from '../client/stillwire.js'

const cards = ({ phone }) => phone.notifications

/**
 * The story in six steps: {`title`, `text`, `act`, `isDone`, `at`}. `act` does what a visitor could do by hand,
 * `isDone` looks only at what the relay and the phones have told, and `at` is what to look at: a part of a person's
 * panel.
 */
export const steps = [
  {
    title: 'Bob wants his peace',
    text: 'His phone tells the relay with one HTTP call, and Alice sees it at once: Bob has notifications silenced.',
    at: ['alice', 'notice'],
    act: silence,
    isDone: ({ alice, bob }) => isSilenced(alice.presence[bob.user]),
  },
  {
    title: 'He puts the phone away',
    text: 'The app says goodbye and Bob is away. From now on a push would have to find him.',
    at: ['bob', 'lock'],
    act: putAway,
    isDone: ({ alice, bob }) => bob.departure !== null && alice.presence[bob.user]?.online === false,
  },
  {
    title: 'Alice writes anyway',
    text: 'The relay pushes, and Bob’s phone keeps quiet: only the phone knows whom its Focus allows. The rule is shown in between.',
    at: ['bob', 'stacks'],
    act: writeQuietly,
    isDone: ({ alice, bob }) => alice.quietSeq !== null && cards(bob).some(({ isQuiet }) => isQuiet),
  },
  {
    title: 'It is urgent: Notify Anyway',
    text: 'Alice was told that Bob is silenced, so she may insist, once. The same notification comes again and lights up.',
    at: ['bob', 'stacks'],
    act: async (scene) => {
      const { alice, until } = scene
      if (alice.quietSeq === null) await writeQuietly(scene)
      await alice.notifyAnyway(await until(() => alice.quietSeq))
    },
    isDone: ({ bob }) => cards(bob).some(({ why }) => why === 'Notified anyway'),
  },
  {
    title: 'Bob prefers to have things held',
    text: 'Two more messages wait in the relay. When his Focus ends, one digest tells of both.',
    at: ['bob', 'stacks'],
    act: async (scene) => {
      const { alice, bob } = scene
      await silence(scene)
      await putAway(scene)
      await bob.setOnFocus('hold')
      await alice.say('I have the blue pot')
      await alice.say('And the good biscuits')
      await bob.setFocus({ mode: 'off' })
    },
    isDone: ({ bob }) => cards(bob).some(({ isDigest }) => isDigest),
  },
  {
    title: 'Answered where it lies',
    text: 'Bob accepts without opening the app, and Alice knows. When he comes back, nothing is missing and nothing comes twice.',
    at: ['alice', 'messages'],
    act: async (scene) => {
      const { alice, bob, until } = scene
      await bob.setFocus({ mode: 'off' })
      await putAway(scene)
      await alice.say('Bring Carol, too?', { category: 'demo.invitation' })
      const invitation = await until(() => cards(bob).find(({ category }) => category === 'demo.invitation'))
      await bob.respond(invitation, 'demo.accept')
      await until(() => Object.keys(alice.conversation.responses).length > 0)
      bob.comeBack()
    },
    isDone: ({ alice, bob }) => bob.isLooking && Object.keys(alice.conversation.responses).length > 0,
  },
]

// Whatever the visitor did in between, each step makes first what it needs.
async function silence({ bob }) {
  await bob.setOnFocus('deliver')
  await bob.setFocus({ mode: 'dnd' }, true)
}

async function putAway({ alice, bob, until }) {
  if (bob.departure === null) bob.leave('closed')
  await until(() => alice.presence[bob.user]?.online === false)
}

async function writeQuietly(scene) {
  await silence(scene)
  await putAway(scene)
  await scene.alice.say('Tea at five?')
}
