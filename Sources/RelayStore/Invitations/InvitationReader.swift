// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads invitations. Those of deleted rooms do not count.
public struct InvitationReader {
  let db: Database

  /// The invitations that a user sees, newest first.
  /// - Parameter before: The invitations have a lower id.
  /// - Returns: A page, and the `before` of the next one. It is `nil` on the last page.
  public func page(
    of user: UserID, before: Int64 = .max, limit: Int
  ) throws -> (invitations: [Invitation], next: Int64?) {
    let found = try db.all(
      """
      \(Self.select())
      WHERE invitations.user = ? AND invitations.is_hidden = 0 AND invitations.id < ?
      ORDER BY invitations.id DESC LIMIT ?
      """,
      [user.rawValue, before, limit + 1], Invitation.init(_:))
    return (Array(found.prefix(limit)), found.count > limit ? found[limit - 1].id : nil)
  }

  /// The number of invitations that a user sees.
  public func count(of user: UserID) throws -> Int {
    try db.first(
      """
      SELECT count(*) FROM invitations INDEXED BY invitations_user CROSS JOIN rooms ON rooms.id = invitations.room
      WHERE invitations.user = ? AND is_hidden = 0 AND NOT (\(Schema.isDeleted("rooms.name")))
      """,
      [user.rawValue])?[0] ?? 0
  }

  func invitation(_ id: Int64) throws -> Invitation? {
    try db.first("\(Self.select()) WHERE invitations.id = ?", [id], Invitation.init(_:))
  }

  /// True if the user sees an invitation to the room.
  public func isInvited(_ user: UserID, to room: RoomID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM invitations WHERE room = (SELECT id FROM rooms WHERE name = ?) AND user = ? AND is_hidden = 0
      """,
      [room.rawValue, user.rawValue])
  }

  /// True if `inviter` has made the oldest open invitation of the user to the room. Counts a hidden invitation, which the
  /// user does not see.
  public func hasInvited(_ user: UserID, to room: RoomID, _ inviter: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM invitations WHERE id = (
          SELECT min(id) FROM invitations WHERE room = (SELECT id FROM rooms WHERE name = ?) AND user = ?)
        AND inviter = (SELECT id FROM users WHERE name = ?)
      """,
      [room.rawValue, user.rawValue, inviter.rawValue])
  }

  /// The users who are invited to a room, also those who do not see it, with their first invitations. The newest one
  /// comes first.
  public func invited(to room: RoomID, limit: Int) throws -> [InvitedUser] {
    try db.all(
      """
      SELECT invitations.user, users.name AS inviter, time FROM invitations
      JOIN users ON users.id = inviter
      WHERE room = (SELECT id FROM rooms WHERE name = ?) AND NOT EXISTS (
        SELECT 1 FROM invitations AS first
        WHERE first.room = invitations.room AND first.user = invitations.user AND first.id < invitations.id)
      ORDER BY invitations.id DESC LIMIT ?
      """,
      [room.rawValue, limit]
    ) {
      InvitedUser(
        user: UserID(unchecked: $0["user"]), inviter: UserID(unchecked: $0["inviter"]), time: $0.timestamp("time"))
    }
  }

  /// The users who see an invitation to the room.
  public func users(invitedTo room: RoomID) throws -> [UserID] {
    try db.all(
      "SELECT user FROM invitations WHERE room = (SELECT id FROM rooms WHERE name = ?) AND is_hidden = 0",
      [room.rawValue]
    ) { UserID(unchecked: $0["user"]) }
  }

  /// The people whom a user would invite, and not make members at once.
  /// - Parameters:
  ///   - others: The people, without the user.
  ///   - room: The room, if it exists.
  /// - Returns: The people, and those of them who are neither members nor invited yet.
  public func strangers(
    to user: UserID, among others: [UserID], _ policy: InvitationPolicy, in room: RoomID?
  ) throws -> (all: Set<UserID>, new: Set<UserID>) {
    let strangers: Set<UserID> =
      switch policy {
      case .none: []
      case .all: Set(others)
      case .unknown: Set(others).subtracting(try RoomReader(db: db).relatedUsers(of: user, among: others))
      }
    guard let room, !strangers.isEmpty else { return (strangers, strangers) }
    let known = try db.all(
      """
      SELECT value FROM json_each(?2) WHERE EXISTS (
        SELECT 1 FROM invitations WHERE room = (SELECT id FROM rooms WHERE name = ?1) AND user = value)
      OR EXISTS (
        SELECT 1 FROM members WHERE room = (SELECT id FROM rooms WHERE name = ?1)
          AND user = (SELECT id FROM users WHERE name = value))
      """,
      [room.rawValue, strangers.sorted().asJSON]
    ) { UserID(unchecked: $0["value"]) }
    return (strangers, strangers.subtracting(known))
  }

  /// Invitations whose push is not decided yet, the oldest first.
  public func undecided(after id: Int64, limit: Int) throws -> [UndecidedInvitation] {
    try db.all(
      """
      \(Self.select("invitations INDEXED BY invitations_undecided"))
      WHERE invitations.is_undecided AND invitations.id > ? ORDER BY invitations.id LIMIT ?
      """,
      [id, limit]
    ) { UndecidedInvitation(user: UserID(unchecked: $0["user"]), invitation: try Invitation($0)) }
  }

  /// The columns of ``Invitation``. The order of the joins keeps the order of the invitations.
  private static func select(_ table: String = "invitations") -> String {
    """
    SELECT \(RoomDetails.columns(withMetadata: false)), invitations.id, invitations.user, rooms.name AS room,
      activity.members, inviter.name AS inviter, inviter.display_name, inviter.avatar AS inviter_avatar,
      invitations.time
    FROM \(table)
    CROSS JOIN rooms ON rooms.id = invitations.room AND NOT (\(Schema.isDeleted("rooms.name")))
    CROSS JOIN users AS inviter ON inviter.id = invitations.inviter
    LEFT JOIN details ON details.room = invitations.room
    LEFT JOIN activity ON activity.room = invitations.room
    """
  }
}

extension Invitation {
  fileprivate init(_ row: Row) throws {
    let details = try RoomDetails(row)
    self.init(
      id: row["id"], room: RoomID(unchecked: row["room"]), details: details,
      // Each of the two people sees a direct room as one of two, also before the other one accepts.
      memberCount: details.kind == .direct ? 2 : row["members"] ?? 0,
      inviter: User(
        id: UserID(unchecked: row["inviter"]), name: row["display_name"], avatar: row["inviter_avatar"]),
      time: row.timestamp("time"))
  }
}
