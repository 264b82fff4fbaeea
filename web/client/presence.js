// SPDX-License-Identifier: Apache-2.0
// The presence of a room, as pure functions without dependencies.

const noMembers = Object.freeze(Object.create(null))

/** The presence of a room before its first join. All presence objects are frozen. */
export const noPresence = Object.freeze({ members: noMembers, memberCount: 0, onlineCount: 0 })

/**
 * Returns the presence of a room after one more input. An input is a reply to `join` (with `type` `joined`) or to
 * `presence` (with `type` `members`), or an event `presence`, `member` or `counts`. Returns the same object if the
 * input changes nothing.
 */
export function presenceAfter(presence, input) {
  const { members } = presence
  switch (input.type) {
    case 'joined':
      return withMembers(byUser(input.members), input.memberCount, input.onlineCount)
    case 'members':
      return withMembers(byUser(input.presence), presence.memberCount, presence.onlineCount)
    case 'presence': {
      // The event does not name a room. It belongs to this room if the user is a member.
      if (!members?.[input.user]) return presence
      const { type, ...entry } = input
      // The event has nothing that belongs to one room.
      const { role, restrictedUntil } = members[input.user]
      return withMembers({ ...members, [entry.user]: inRoom(entry, { role, restrictedUntil }) }, presence.memberCount)
    }
    case 'member': {
      const { user, name, event, presence: entry, memberCount = presence.memberCount } = input
      if (typeof user !== 'string') return presence
      if (!members) return withMembers(null, memberCount, presence.onlineCount)
      const { [user]: known, ...others } = members
      if (event === 'restricted' || event === 'unrestricted') {
        if (!known) return presence
        const { restrictedUntil: _, ...entry } = known
        const { restrictedUntil } = input
        return withMembers({ ...members, [user]: inRoom(entry, { restrictedUntil }) }, memberCount)
      }
      if (event !== 'joined') return withMembers(others, memberCount)
      const shown = entry?.user === user ? entry : (known ?? { user, name, online: false, isFocused: null })
      return withMembers({ ...members, [user]: shown }, memberCount)
    }
    case 'counts':
      if (!Number.isSafeInteger(input.memberCount)) return presence
      return withMembers(null, input.memberCount, input.onlineCount)
    default:
      return presence
  }
}

/** Returns true if a frame is the end of a membership. */
export function endsMembership({ type, event }) {
  return type === 'member' && (event === 'left' || event === 'removed')
}

// Adds the fields that have a value.
function inRoom(entry, fields) {
  return { ...entry, ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) }
}

// A user's name can equal a property of Object.prototype, so these objects have no prototype.
function withMembers(members, memberCount = 0, onlineCount = 0) {
  if (!members) return Object.freeze({ members: null, memberCount, onlineCount })
  const own = Object.freeze(Object.assign(Object.create(null), members))
  return Object.freeze({
    members: own,
    memberCount,
    onlineCount: Object.values(own).filter(({ online }) => online).length,
  })
}

function byUser(entries) {
  if (!Array.isArray(entries)) return null
  const members = Object.create(null)
  for (const entry of entries) if (typeof entry?.user === 'string') members[entry.user] = entry
  return members
}

/** Returns true only if the user is known to have a Focus. Null means unknown or not shared. */
export function isSilenced(entry) {
  return entry?.isFocused === true
}
