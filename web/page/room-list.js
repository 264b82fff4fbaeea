// SPDX-License-Identifier: Apache-2.0

/**
 * A person's list of rooms, the newest activity first. All functions here are pure. An entry has the fields of the
 * relay's entry. The order is that of the relay's list and of its events, and depends on no clock.
 */
export const noRooms = Object.freeze([])

/**
 * Returns the list after one more input:
 *
 * - `listed`: a reply to `rooms`. With `isReset` it replaces the list.
 * - `changed` and `removed`: an event `inbox`
 * - `titled`: the new title of a room
 * - `said`: a message in the open room, for which the relay sends no event `inbox`
 */
export function roomsAfter(rooms, input) {
  switch (input.type) {
    case 'listed':
      return listed(input.isReset ? noRooms : rooms, input.rooms)
    case 'changed':
      return placed(rooms, input.entry)
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

// The relay can send an event before an older reply, so an older entry does not replace a newer one. Rooms with a
// newer message than in the reply stay first.
function listed(rooms, entries) {
  const listed = new Map(entries.map((entry) => [entry.room, entry]))
  const first = rooms.filter((known) => listed.has(known.room) && seqOf(known) > seqOf(listed.get(known.room)))
  for (const { room } of first) listed.delete(room)
  for (const known of rooms) {
    const entry = listed.get(known.room)
    if (entry && seqOf(entry) === seqOf(known) && entry.read < known.read) listed.set(known.room, known)
  }
  return [...first, ...listed.values()]
}

// A new room and a room with a newer message are first. Other changes, such as a new title, leave a room in its place.
function placed(rooms, entry) {
  const known = rooms.find(({ room }) => room === entry.room)
  if (known && seqOf(entry) <= seqOf(known)) return rooms.map((other) => (other === known ? entry : other))
  return [entry, ...rooms.filter((other) => other !== known)]
}

function said(rooms, { room, seq, time, from, preview }) {
  const known = rooms.find((entry) => entry.room === room)
  if (!known || seq <= seqOf(known)) return rooms
  return placed(rooms, { ...known, lastMessage: { seq, time, from, preview }, unread: 0, mentions: 0, read: seq })
}

const seqOf = ({ lastMessage }) => lastMessage?.seq ?? 0
