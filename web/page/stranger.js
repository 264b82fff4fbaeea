// SPDX-License-Identifier: Apache-2.0
import { Stillwire } from '../client/stillwire.js'

const name = 'Dora'

/**
 * Lets a stranger, who shares no room with this person, open the direct room of both and write to it. The relay invites
 * the person, who reads the message after the acceptance.
 */
export async function meetStranger({ user, home }) {
  const url = new URL('v1/connect', document.baseURI)
  url.protocol = url.protocol.replace('http', 'ws')
  const relay = new Stillwire(url, { hello: { user: home.replace('demo.', 'dora-'), name }, page: null })
  const welcome = new Promise((resolve, reject) => {
    relay.addEventListener('welcome', resolve, { once: true })
    relay.addEventListener('state', ({ detail: { state, reason } }) => state === 'refused' && reject(new Error(reason)))
  })
  relay.connect()
  try {
    await welcome
    const room = relay.room((await relay.request('direct', { user })).room)
    await room.join()
    await room.send({ text: `Hello, this is ${name}. Do you sell teapots?` })
  } finally {
    relay.close()
  }
}
