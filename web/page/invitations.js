// SPDX-License-Identifier: Apache-2.0

/**
 * A person's open invitations, newest first. All functions here are pure. An invitation has the fields of the relay's
 * invitation.
 */
export const noInvitations = Object.freeze([])

/**
 * Returns the invitations after one more input:
 *
 * - `listed`: a reply to `invitations`
 * - `added` and `ended`: an event `invitation`
 * - `blocked`: the person has blocked a user
 */
export function invitationsAfter(invitations, input) {
  const without = (isGone) => invitations.filter((invitation) => !isGone(invitation))
  switch (input.type) {
    case 'listed':
      return input.invitations
    case 'added':
      return [input.invitation, ...without(({ room }) => room === input.invitation.room)]
    case 'ended':
      return without(({ room }) => room === input.room)
    case 'blocked':
      return without(({ by }) => by.user === input.user)
    default:
      return invitations
  }
}

/** The name of the inviter. Until the inviter has a name, it is the user. */
export function inviterOf({ by }) {
  return by.name ?? by.user
}

/** The line under the inviter's name. */
export function invitationText({ kind, title, members }) {
  if (kind === 'direct') return 'wants to write to you'
  return `invites you to ${title || 'a group'} · ${members} ${members === 1 ? 'member' : 'members'}`
}
