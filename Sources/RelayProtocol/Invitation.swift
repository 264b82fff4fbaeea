// SPDX-License-Identifier: Apache-2.0

/// The cause of the end of an invitation.
public enum InvitationEnd: String, Sendable, CaseIterable {
  /// The invited user is a member now.
  case accepted
  case declined
  /// The inviter or a moderator has removed the user, or the room is deleted.
  case withdrawn
  /// The user has more open invitations than the limit permits, and this one was the oldest.
  case replaced
  /// Nobody has used the name of the user for 7 days.
  case expired
  /// The user has blocked the inviter.
  case blocked
}

/// The people whom a user invites into a room. The user makes all others members at once.
///
/// A backend always makes people members.
public enum InvitationPolicy: String, Sendable, CaseIterable {
  case all
  /// People who are in no room with the user.
  case unknown
  case none
}
