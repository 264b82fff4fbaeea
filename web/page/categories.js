// SPDX-License-Identifier: Apache-2.0
import { call } from './api.js'

const action = (id, title, more) => ({ id: `demo.${id}`, title, ...more })
const reply = { textInput: { button: 'Send', placeholder: 'Message' }, posts: true }

/** The categories of this page's notifications. The ids of actions are unique across all categories. */
export const categories = {
  'demo.message': { actions: [action('reply', 'Reply', reply)] },
  'demo.invitation': {
    actions: [
      action('accept', 'Accept'),
      action('decline', 'Decline', { options: ['destructive'] }),
      action('answer', 'Reply', reply),
    ],
  },
  'demo.call': {
    actions: [
      action('call.accept', 'Accept', { options: ['foreground'] }),
      action('call.decline', 'Decline', { options: ['destructive'] }),
    ],
  },
}

/** The text for a response in the conversation. Is null if the response needs no line. */
export function responseText(action) {
  return { accept: 'accepted', decline: 'declined' }[action.split('.').at(-1)] ?? null
}

/** Adds this page's categories to those of the relay, unless it already has them. */
export async function registerCategories() {
  for (let attempt = 0; attempt < 3; attempt++) {
    const { version, categories: known } = await call('GET', 'v1/categories')
    const missing = Object.keys(categories).filter((id) => !known.some((other) => other.id === id))
    if (missing.length === 0) return
    const added = missing.map((id) => ({ id, ...categories[id] }))
    try {
      await call('PUT', 'v1/categories', { body: { version, categories: [...known, ...added] } })
      return
    } catch (error) {
      // Another tab may have changed the registry since the GET.
      if (attempt === 2) throw error
    }
  }
}
