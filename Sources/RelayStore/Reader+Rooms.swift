// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Reader {
  /// The room with all its members, in a number of queries that does not depend on theirs; nil: there is no such room.
  public func room(_ room: RoomID) throws -> RoomSnapshot? {
    guard let row = try db.first("SELECT id, epoch, seq, cursor FROM rooms WHERE name = ?", [room.rawValue]) else {
      return nil
    }
    let id: Int64 = row[0]
    let belongings = try Belongings(db, of: "SELECT user FROM members WHERE room = ?", [id])
    let members = try db.all(
      """
      SELECT users.id, users.name, users.display_name, users.avatar, users.last_seen, read, received
      FROM members JOIN users ON users.id = members.user WHERE members.room = ?
      """,
      [id]
    ).map { row in
      let user = belongings.user(row)
      return MemberRecord(
        user: user.user, lastSeen: user.lastSeen, read: row[5], received: row[6], focus: user.focus,
        devices: user.devices)
    }
    return RoomSnapshot(
      state: RoomState(room: room, epoch: row[1], seq: row[2], cursor: row[3]), members: members)
  }

  public func isMember(_ user: UserID, of room: RoomID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM members WHERE room = (SELECT id FROM rooms WHERE name = ?)
        AND user = (SELECT id FROM users WHERE name = ?)
      """,
      [room.rawValue, user.rawValue])
  }

  /// Whether the two are members of a room in common.
  public func shareRoom(_ a: UserID, _ b: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM members AS a JOIN members AS b ON b.room = a.room
      WHERE a.user = (SELECT id FROM users WHERE name = ?) AND b.user = (SELECT id FROM users WHERE name = ?)
      """,
      [a.rawValue, b.rawValue])
  }

  /// The rooms with messages above their cursor.
  public func undecided() throws -> [RoomID] {
    try db.all("SELECT name FROM rooms WHERE cursor < seq ORDER BY id").map { RoomID(unchecked: $0[0]) }
  }
}
