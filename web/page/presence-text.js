// SPDX-License-Identifier: Apache-2.0
// Texts for presence, such as the line under a name.

/** The text under a name: “online”, “last seen 5 min ago”. Times in milliseconds since 1970. */
export function presenceText(entry, now) {
  if (!entry) return 'not here yet'
  if (entry.online) {
    if (entry.activity === 'idle') return 'online, idle'
    if (entry.activity === 'background') return 'online, in the background'
    return 'online'
  }
  return entry.lastSeen ? `away · last seen ${elapsed(entry.lastSeen, now)}` : 'away'
}

/** A rounded time difference: “just now”, “5 min ago”, “3 h ago”, “2 d ago”. */
export function elapsed(time, now) {
  const minutes = Math.floor((now - time) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`
}
