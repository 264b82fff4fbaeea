// SPDX-License-Identifier: Apache-2.0

/// The people whom a user invites into a room. The user makes all others members at once.
///
/// A backend always makes people members.
public enum InvitationPolicy: String, Sendable, CaseIterable {
  case all
  /// People who are in no room with the user.
  case unknown
  case none
}
