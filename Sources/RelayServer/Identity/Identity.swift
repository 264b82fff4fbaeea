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

/// The permissions of a caller or a session.
struct Permissions: Hashable, Sendable {
  /// The rights by room, where the first match counts. Is `nil` when the token has no claim `rooms`.
  var grants: [Grant]?
  /// People who may be seen although no room is shared.
  var watch: [Glob]
  /// The changes to the user's own account.
  var account: AccountRights

  /// The permissions of open mode.
  static let standard = Permissions(grants: nil, watch: [], account: .all)
  /// The permissions of a session of token mode that has ended.
  static let nothing = Permissions(grants: [], watch: [], account: [])

  init(grants: [Grant]?, watch: [Glob], account: AccountRights) {
    self.grants = grants
    self.watch = watch
    self.account = account
  }

  /// The permissions of a token. A token that gives rights in rooms, and does not have the claim `account`, is an app's
  /// own token: it may change the account.
  init(grants: [Grant]?, watch: [Glob], claimed account: AccountRights?) {
    let givesRooms = grants?.contains { !$0.can.isEmpty } ?? false
    self.init(grants: grants, watch: watch, account: account ?? (givesRooms ? .all : []))
  }

  /// The rights in a room. The token decides first, then the room's pattern. Without either, open mode gives the
  /// standard rights to everybody, and token mode gives them to members alone.
  /// - Parameter pattern: `can` of the room's pattern. Is `nil` when the pattern has none.
  func rights(in room: RoomID, pattern: Rights?, isMember: Bool, isOpen: Bool) -> Rights {
    if let grants { return grants.rights(in: room) }
    return pattern ?? (isMember || isOpen ? .standard : [])
  }

  /// True if the claim `rooms` gives these rights in every room.
  func givesEverywhere(_ rights: Rights) -> Bool {
    guard let grants, let all = grants.firstIndex(where: { $0.match.description == "*" }) else { return false }
    return grants[...all].allSatisfy { $0.can.isSuperset(of: rights) }
  }

  func mayWatch(_ user: UserID) -> Bool { watch.contains { $0.matches(user.rawValue) } }
}
