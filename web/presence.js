// SPDX-License-Identifier: Apache-2.0

/** Nobody known yet. Entries are kept by user, as the relay sends them. */
export const nobody = Object.freeze({})

/** The entries after one more input: a reply to `join`, a `presence` or a `member` event. */
export function presenceAfter(entries, input) {
  switch (input.type) {
    case 'ok':
      return Object.freeze(Object.fromEntries((input.members ?? []).map((entry) => [entry.user, entry])))
    case 'presence': {
      const { type, ...entry } = input
      return Object.freeze({ ...entries, [entry.user]: entry })
    }
    case 'member': {
      const { [input.user]: known, ...others } = entries
      if (input.event !== 'joined') return Object.freeze(others)
      const { user, name } = input
      return Object.freeze({ ...others, [user]: known ?? { user, name, online: false, isFocused: null } })
    }
    default:
      return entries
  }
}

/** Only a clear yes silences: null means that the relay was not told. */
export function isSilenced(entry) {
  return entry?.isFocused === true
}

/** What to write under a name: “online”, “last seen 5 min ago”. Times in milliseconds since 1970. */
export function presenceText(entry, now) {
  if (!entry) return 'not here yet'
  if (entry.online) {
    if (entry.activity === 'idle') return 'online, idle'
    if (entry.activity === 'background') return 'online, in the background'
    return 'online'
  }
  return entry.lastSeen ? `away · last seen ${elapsed(entry.lastSeen, now)}` : 'away'
}

/** A rough distance in time: “just now”, “5 min ago”, “3 h ago”, “2 d ago”. */
export function elapsed(time, now) {
  const minutes = Math.floor((now - time) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`
}
