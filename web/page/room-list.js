// SPDX-License-Identifier: Apache-2.0

/**
 * A person's list of rooms, the newest activity first. All functions here are pure. An entry has the fields of the
 * relay's entry, and `active`: the time of its newest activity. The relay's entry has this time only with a message.
 */
export const noRooms = Object.freeze([])

/**
 * Returns the list after one more input:
 *
 * - `listed`: a reply to `rooms`. With `isReset` it replaces the list. `now` is the relay's time.
 * - `changed` and `removed`: an event `inbox`
 * - `titled`: the new title of a room
 * - `said`: a message in the open room, for which the relay sends no event `inbox`
 */
export function roomsAfter(rooms, input) {
  switch (input.type) {
    case 'listed':
      return listed(input.isReset ? noRooms : rooms, input)
    case 'changed':
      return sorted([...rooms.filter(({ room }) => room !== input.entry.room), timed(rooms, input.entry, input.now)])
    case 'removed':
      return rooms.filter(({ room }) => room !== input.room)
    case 'titled':
      return rooms.map((entry) => (entry.room === input.room ? { ...entry, title: input.title } : entry))
    case 'said':
      return said(rooms, input)
    default:
      return rooms
  }
}

/** The number of unread messages in all rooms except the open one. */
export function unreadOutside(rooms, open) {
  return rooms.reduce((sum, { room, unread }) => (room === open ? sum : sum + unread), 0)
}

// The relay can send an event before an older reply, so an older entry does not replace a newer one. Rooms without
// messages keep the order of the reply.
function listed(rooms, { rooms: entries, now }) {
  let last = now
  const next = entries.map((entry) => {
    const known = rooms.find(({ room }) => room === entry.room)
    const kept = known && isOlder(entry, known) ? known : timed(rooms, entry, last)
    last = Math.min(last, kept.active) - 1
    return kept
  })
  return sorted(next)
}

function isOlder(entry, known) {
  const [seq, other] = [entry, known].map(({ lastMessage }) => lastMessage?.seq ?? 0)
  return seq < other || (seq === other && entry.read < known.read)
}

// A new title does not move a room without messages.
function timed(rooms, entry, now) {
  const known = rooms.find(({ room }) => room === entry.room)
  return { ...entry, active: entry.lastMessage?.time ?? known?.active ?? now }
}

function said(rooms, { room, seq, time, from, preview }) {
  const known = rooms.find((entry) => entry.room === room)
  if (!known || seq <= (known.lastMessage?.seq ?? 0)) return rooms
  const lastMessage = { seq, time, from, preview }
  const others = rooms.filter((entry) => entry !== known)
  return sorted([...others, { ...known, lastMessage, active: time, unread: 0, mentions: 0, read: seq }])
}

function sorted(rooms) {
  return rooms.toSorted((one, other) => other.active - one.active)
}
