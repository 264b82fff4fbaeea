// SPDX-License-Identifier: Apache-2.0
import { isSilenced } from '../client/stillwire.js'

const cards = ({ phone }) => phone.notifications

/**
 * The story in six steps: {`title`, `text`, `act`, `isDone`, `at`}. `act` performs actions that a visitor could also
 * perform. `isDone` depends only on data from the relay and the phones. `at` is the part of a person's panel to point
 * at.
 */
export const steps = [
  {
    title: 'Bob wants some peace',
    text: 'His phone reports his Focus with one HTTP call, and Alice sees it right away: Bob has notifications silenced.',
    at: ['alice', 'notice'],
    act: silence,
    isDone: ({ alice, bob }) => isSilenced(alice.presence[bob.user]),
  },
  {
    title: 'He puts the phone away',
    text: 'The app says goodbye, and Bob is away. From now on, only a push can reach him.',
    at: ['bob', 'lock'],
    act: putAway,
    isDone: ({ alice, bob }) => bob.departure !== null && alice.presence[bob.user]?.online === false,
  },
  {
    title: 'Alice writes anyway',
    text: 'The relay pushes, and Bob’s phone stays quiet: only the phone knows the people that its Focus allows. The relay’s panel shows the rule.',
    at: ['bob', 'stacks'],
    act: writeQuietly,
    isDone: ({ alice, bob }) => alice.quietSeq !== null && cards(bob).some(({ isQuiet }) => isQuiet),
  },
  {
    title: 'It is urgent: Notify Anyway',
    text: 'Alice knows that Bob is silenced, so she may insist, once. The same notification arrives again, and lights up the screen.',
    at: ['bob', 'stacks'],
    act: async (scene) => {
      const { alice, until } = scene
      if (alice.quietSeq === null) await writeQuietly(scene)
      await alice.notifyAnyway(await until(() => alice.quietSeq))
    },
    isDone: ({ bob }) => cards(bob).some(({ why }) => why === 'Notified anyway'),
  },
  {
    title: 'Bob wants messages held',
    text: 'Two more messages wait in the relay. When his Focus ends, one digest announces both.',
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
    title: 'Answered on the lock screen',
    text: 'Bob accepts without opening the app, and Alice sees it. When he comes back, no message is missing and none appears twice.',
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

// The visitor may have changed something, so each step first prepares its conditions.
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
