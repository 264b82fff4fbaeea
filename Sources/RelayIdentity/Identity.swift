// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// A verified user, with the permissions of the token.
package struct Identity: Sendable {
  package var user: User
  package var permissions: Permissions
  /// The end of the token. Is `nil` in open mode.
  package var expires: Timestamp?

  package var id: UserID { user.id }

  package init(user: User, permissions: Permissions = .standard, expires: Timestamp? = nil) {
    self.user = user
    self.permissions = permissions
    self.expires = expires
  }
}

/// The permissions of a caller or a session.
package struct Permissions: Hashable, Sendable {
  /// The rights by room, where the first match counts. Is `nil` when the token has no claim `rooms`.
  package var grants: [Grant]?
  /// The users whose presence the caller may watch without a common room.
  package var watch: [Glob]
  /// The changes to the user's own account.
  package var account: AccountRights

  /// The permissions of open mode.
  package static let standard = Permissions(grants: nil, watch: [], account: .all)
  /// The permissions of a session of token mode that has ended.
  package static let nothing = Permissions(grants: [], watch: [], account: [])

  package init(grants: [Grant]?, watch: [Glob], account: AccountRights) {
    self.grants = grants
    self.watch = watch
    self.account = account
  }

  /// The permissions of a token. A token that gives rights in rooms, and does not have the claim `account`, is an app's
  /// own token: it may change the account.
  package init(grants: [Grant]?, watch: [Glob], claimed account: AccountRights?) {
    let givesRooms = grants?.contains { !$0.can.isEmpty } ?? false
    self.init(grants: grants, watch: watch, account: account ?? (givesRooms ? .all : []))
  }

  /// The rights in a room. The token decides first, then the room's pattern. Without either, open mode gives the
  /// standard rights to everybody, and token mode gives them to members alone.
  /// - Parameter pattern: `can` of the room's pattern. Is `nil` when the pattern has none.
  package func rights(in room: RoomID, pattern: Rights?, isMember: Bool, isOpen: Bool) -> Rights {
    if let grants { return grants.rights(in: room) }
    return pattern ?? (isMember || isOpen ? .standard : [])
  }

  /// True if the claim `rooms` gives these rights in every room.
  package func givesEverywhere(_ rights: Rights) -> Bool {
    guard let grants, let all = grants.firstIndex(where: { $0.match.description == "*" }) else { return false }
    return grants[...all].allSatisfy { $0.can.isSuperset(of: rights) }
  }

  package func mayWatch(_ user: UserID) -> Bool { watch.contains { $0.matches(user.rawValue) } }
}
