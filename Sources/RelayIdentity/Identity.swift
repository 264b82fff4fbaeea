// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// A verified user, with the permissions of the token.
package struct Identity: Sendable {
  package var user: User
  package var permissions: Permissions
  /// The time at which the token expires. Is `nil` in open mode.
  package var expires: Timestamp?
  /// The time at which the token was issued. Is `nil` in open mode, and for a token without `iat`.
  package var issued: Timestamp?

  package var id: UserID { user.id }

  package init(
    user: User, permissions: Permissions = .standard, expires: Timestamp? = nil, issued: Timestamp? = nil
  ) {
    self.user = user
    self.permissions = permissions
    self.expires = expires
    self.issued = issued
  }
}

/// The permissions of a caller or a session.
package struct Permissions: Hashable, Sendable {
  /// The rights by room. The first grant that matches counts. Is `nil` if the token has no claim `rooms`.
  package var grants: [Grant]?
  /// Patterns of the users whose presence the caller may watch without a common room.
  package var watch: [Glob]
  /// The changes that the caller may make to the user's own account.
  package var account: AccountRights

  /// The permissions of open mode.
  package static let standard = Permissions(grants: nil, watch: [], account: .all)
  /// The permissions of a user whose last session has ended, if tokens are required.
  package static let nothing = Permissions(grants: [], watch: [], account: [])

  package init(grants: [Grant]?, watch: [Glob], account: AccountRights) {
    self.grants = grants
    self.watch = watch
    self.account = account
  }

  /// The permissions of a token.
  ///
  /// A token without the claim `account` may change the account if it gives rights in a room. Such a token is the app's
  /// own token.
  package init(grants: [Grant]?, watch: [Glob], claimed account: AccountRights?) {
    let givesRooms = grants?.contains { !$0.can.isEmpty } ?? false
    self.init(grants: grants, watch: watch, account: account ?? (givesRooms ? .all : []))
  }

  /// The rights in a room. The grants of the token take precedence, then the rights of the room's pattern. Without
  /// either, all users have the standard rights in open mode. If tokens are required, members have ``Rights/member``.
  /// - Parameter pattern: The `can` of the room's pattern. Is `nil` if the pattern has none.
  package func rights(in room: RoomID, pattern: Rights?, isMember: Bool, isOpen: Bool) -> Rights {
    if let grants { return grants.rights(in: room) }
    return pattern ?? (isOpen ? .standard : isMember ? .member : [])
  }

  /// True if the claim `rooms` gives these rights in all rooms.
  package func givesEverywhere(_ rights: Rights) -> Bool {
    guard let grants, let all = grants.firstIndex(where: { $0.match.description == "*" }) else { return false }
    return grants[...all].allSatisfy { $0.can.isSuperset(of: rights) }
  }

  package func mayWatch(_ user: UserID) -> Bool { watch.contains { $0.matches(user.rawValue) } }
}

/// The rights that many members need in one room. Only the grants of tokens with the claim `rooms` are compared with
/// the name of the room: all other members have the same rights.
package struct RoomNeed: Sendable {
  private let needed: Rights
  private let room: RoomID
  private let isMetWithoutGrants: Bool

  /// - Parameter pattern: The `can` of the room's pattern. Is `nil` if the pattern has none.
  package init(_ needed: Rights, in room: RoomID, pattern: Rights?, isOpen: Bool) {
    self.needed = needed
    self.room = room
    let rights = Permissions.standard.rights(in: room, pattern: pattern, isMember: true, isOpen: isOpen)
    isMetWithoutGrants = rights.isSuperset(of: needed)
  }

  /// True if a member with these permissions has the rights.
  package func isMet(by permissions: Permissions) -> Bool {
    permissions.grants.map { $0.rights(in: room).isSuperset(of: needed) } ?? isMetWithoutGrants
  }
}
