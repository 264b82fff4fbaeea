// SPDX-License-Identifier: Apache-2.0
import { isSilenced } from './presence.js'

const cards = ({ phone }) => phone.notifications
const said = ({ conversation }, text) => conversation.messages.find(({ body }) => body?.text === text)

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
    act: ({ bob }) => bob.setFocus({ mode: 'dnd' }),
    isDone: ({ alice, bob }) => isSilenced(alice.presence[bob.user]),
  },
  {
    title: 'He puts the phone away',
    text: 'The app says goodbye and Bob is away. From now on a push would have to find him.',
    at: ['bob', 'lock'],
    act: ({ bob }) => bob.leave('closed'),
    isDone: ({ alice, bob }) => bob.departure !== null && alice.presence[bob.user]?.online === false,
  },
  {
    title: 'Alice writes anyway',
    text: 'The relay pushes; Bob’s phone keeps quiet, as only the phone knows whom its Focus allows. Rule and payload are in the relay’s view.',
    at: ['bob', 'stacks'],
    act: ({ alice }) => alice.say('Tea at five?'),
    isDone: ({ alice, bob }) => cards(bob).some(({ isQuiet }) => isQuiet) && said(alice, 'Tea at five?') !== undefined,
  },
  {
    title: 'It is urgent: Notify Anyway',
    text: 'Alice was told that Bob is silenced, so she may insist, once. The same notification comes again and lights up.',
    at: ['bob', 'stacks'],
    act: ({ alice }) => alice.notifyAnyway(alice.quietSeq),
    isDone: ({ bob }) => cards(bob).some(({ why }) => why === 'Notified anyway'),
  },
  {
    title: 'Bob prefers to have things held',
    text: 'Two more messages wait in the relay. When his Focus ends, one digest tells of both.',
    at: ['bob', 'stacks'],
    act: async ({ alice, bob, until }) => {
      await bob.setOnFocus('hold')
      alice.say('I have the blue pot')
      alice.say('And the good biscuits')
      // Both wait in the relay by then: who is away and silenced is decided at once.
      await until(() => said(alice, 'And the good biscuits'))
      await bob.setFocus({ mode: 'off' })
    },
    isDone: ({ bob }) => cards(bob).some(({ isDigest }) => isDigest),
  },
  {
    title: 'Answered where it lies',
    text: 'Bob accepts on the lock screen, without opening the app, and Alice knows. When he comes back, nothing is missing and nothing comes twice.',
    at: ['alice', 'messages'],
    act: async ({ alice, bob, until }) => {
      alice.say('Bring Carol, too?', { category: 'demo.invitation' })
      const invitation = await until(() => cards(bob).find(({ category }) => category === 'demo.invitation'))
      await bob.respond(invitation, 'demo.accept')
      await until(() => Object.keys(alice.conversation.responses).length > 0)
      bob.comeBack()
    },
    isDone: ({ alice, bob }) => bob.isLooking && Object.keys(alice.conversation.responses).length > 0,
  },
]
