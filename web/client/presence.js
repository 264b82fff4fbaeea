// SPDX-License-Identifier: Apache-2.0

const noMembers = Object.freeze(Object.create(null))

/** The presence of a room before anything was heard of it; frozen, like all that follows from it. */
export const noPresence = Object.freeze({ members: noMembers, memberCount: 0, onlineCount: 0 })

/**
 * The presence of a room after one more input: a reply to `join` (as `joined`) or to `presence` (as `members`), or a
 * `presence`, `member` or `counts` event. Inputs that change nothing return `presence` itself.
 */
export function presenceAfter(presence, input) {
  const { members } = presence
  switch (input.type) {
    case 'joined':
      return withMembers(byUser(input.members), input.memberCount, input.onlineCount)
    case 'members':
      return withMembers(byUser(input.presence), presence.memberCount, presence.onlineCount)
    case 'presence': {
      // It is told once for all rooms: here it counts if this is one of them.
      if (!members?.[input.user]) return presence
      const { type, ...entry } = input
      return withMembers({ ...members, [entry.user]: entry }, presence.memberCount)
    }
    case 'member': {
      const { user, name, event, memberCount = presence.memberCount } = input
      if (typeof user !== 'string') return presence
      if (!members) return withMembers(null, memberCount, presence.onlineCount)
      const { [user]: known, ...others } = members
      if (event !== 'joined') return withMembers(others, memberCount)
      return withMembers({ ...members, [user]: known ?? { user, name, online: false, isFocused: null } }, memberCount)
    }
    case 'counts':
      if (!Number.isSafeInteger(input.memberCount)) return presence
      return withMembers(null, input.memberCount, input.onlineCount)
    default:
      return presence
  }
}

// Users may be called like what objects inherit, so these inherit nothing.
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
  for (const entry of entries) members[entry.user] = entry
  return members
}

/** Only a clear yes silences: null means that the relay was not told. */
export function isSilenced(entry) {
  return entry?.isFocused === true
}
