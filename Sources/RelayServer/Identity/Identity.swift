// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Who somebody is, and what that allows.
struct Identity: Sendable {
  var user: User
  var permissions = Permissions.standard
  /// When it ends; nil: never.
  var expires: Timestamp?

  var id: UserID { user.id }
}

/// What a token allows beyond what everybody may.
struct Permissions: Hashable, Sendable {
  /// By room, where the first that fits counts; nil: what the room's pattern gives.
  var grants: [Grant]?
  /// People who may be seen although no room is shared.
  var watch: [Glob]

  static let standard = Permissions(grants: nil, watch: [])

  func mayWatch(_ user: UserID) -> Bool { watch.contains { $0.matches(user.rawValue) } }
}
