// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads rooms, memberships and marks.
public struct RoomReader {
  let db: Database

  /// The room with all its members. The number of queries does not depend on the number of members. Is `nil` when the
  /// room does not exist.
  public func snapshot(_ room: RoomID) throws -> RoomSnapshot? {
    let row = try db.first("SELECT id, epoch, seq, cursor, change FROM rooms WHERE name = ?", [room.rawValue])
    guard let row else { return nil }
    let id: Int64 = row["id"]
    let restrictions = try db.all(
      "SELECT user, until FROM restrictions WHERE room = ?", [id]
    ) { ($0["user"] as Int64, $0.timestamp("until")) }
    let restricted = Dictionary(uniqueKeysWithValues: restrictions)
    var members = try db.all(
      """
      SELECT \(UserRecord.columns), read, received, role
      FROM members JOIN users ON users.id = members.user WHERE members.room = ?
      """,
      [id]
    ) { row in
      let user: Int64 = row["id"]
      let member = MemberRecord(
        record: try UserRecord(row), read: row["read"], received: row["received"],
        role: RoomRole(rawValue: row["role"]) ?? .member, restrictedUntil: restricted[user])
      return (user: user, member: member)
    }
    let details = try UserDetails(db, of: members.map(\.user))
    for index in members.indices { details.complete(&members[index].member.record, members[index].user) }
    let changed: Int64? = try db.first(
      """
      SELECT coalesce(max(changed), 0) FROM messages INDEXED BY messages_changed
      WHERE room = ? AND changed IS NOT NULL
      """,
      [id])?[0]
    let annotated: Int64? = try db.first(
      "SELECT coalesce(max(changed), 0) FROM annotations INDEXED BY annotations_changed WHERE room = ?", [id])?[0]
    return RoomSnapshot(
      state: RoomState(room: room, epoch: row["epoch"], seq: row["seq"], cursor: row["cursor"]),
      members: members.map(\.member),
      changed: max(changed ?? 0, annotated ?? 0), change: row["change"],
      isReadOnly: try isReadOnly(id), pair: try pair(of: id))
  }

  /// True if only moderators and owners send to the room.
  func isReadOnly(_ id: Int64) throws -> Bool {
    try db.has("SELECT 1 FROM details WHERE room = ? AND read_only", [id])
  }

  public func isMember(_ user: UserID, of room: RoomID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM members WHERE room = (SELECT id FROM rooms WHERE name = ?)
        AND user = (SELECT id FROM users WHERE name = ?)
      """,
      [room.rawValue, user.rawValue])
  }

  /// Returns `nil` for a user who is no member.
  public func marks(of user: UserID, in room: RoomID) throws -> Marks? {
    try db.first(
      """
      SELECT read, received FROM members WHERE room = (SELECT id FROM rooms WHERE name = ?)
        AND user = (SELECT id FROM users WHERE name = ?)
      """,
      [room.rawValue, user.rawValue]
    ).map { Marks(read: $0["read"], received: $0["received"]) }
  }

  /// The rooms that the user is a member of.
  public func names(of user: UserID) throws -> [RoomID] {
    try db.all(
      """
      SELECT rooms.name FROM members JOIN rooms ON rooms.id = members.room
      WHERE members.user = (SELECT id FROM users WHERE name = ?) AND NOT (\(Schema.isDeleted("rooms.name")))
      """,
      [user.rawValue]
    ).map { RoomID(unchecked: $0[0]) }
  }

  /// The users of `others` who are members of one of these rooms.
  public func members(of rooms: [RoomID], among others: [UserID]) throws -> Set<UserID> {
    let rows = try db.all(
      """
      SELECT DISTINCT users.name FROM rooms JOIN users JOIN members
      ON members.room = rooms.id AND members.user = users.id
      WHERE rooms.name IN (SELECT value FROM json_each(?)) AND users.name IN (SELECT value FROM json_each(?))
      """,
      [rooms.asJSON, others.asJSON])
    return Set(rows.map { UserID(unchecked: $0[0]) })
  }

  /// The users of `others` who are members of a room of the user.
  public func relatedUsers(of user: UserID, among others: [UserID]) throws -> Set<UserID> {
    let rows = try db.all(
      """
      SELECT name FROM users WHERE name IN (SELECT value FROM json_each(?)) AND EXISTS (
        SELECT 1 FROM members AS theirs JOIN members AS own ON own.room = theirs.room
        JOIN rooms ON rooms.id = own.room AND NOT (\(Schema.isDeleted("rooms.name")))
        WHERE theirs.user = users.id AND own.user = (SELECT id FROM users WHERE name = ?))
      """,
      [others.asJSON, user.rawValue])
    return Set(rows.map { UserID(unchecked: $0[0]) })
  }

  /// The rooms with messages above their cursor.
  public func undecided() throws -> [RoomID] {
    try db.all("SELECT name FROM rooms WHERE cursor < seq ORDER BY id").map { RoomID(unchecked: $0[0]) }
  }
}
