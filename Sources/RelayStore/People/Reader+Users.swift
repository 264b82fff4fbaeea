// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Reader {
  /// Returns `nil` for a user who has no row.
  public func user(_ user: UserID) throws -> UserRecord? {
    try users([user]).first
  }

  /// True if the user was connected, has a device, or is a member of a room.
  public func isPerson(_ user: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM users WHERE name = ? AND (last_seen IS NOT NULL
        OR EXISTS (SELECT 1 FROM devices WHERE devices.user = users.id)
        OR EXISTS (SELECT 1 FROM members WHERE members.user = users.id))
      """,
      [user.rawValue])
  }

  /// The users who have a row, in the order of `users`.
  public func users(_ users: [UserID]) throws -> [UserRecord] {
    let rows = try users.compactMap {
      try db.first("SELECT \(Belongings.columns) FROM users WHERE name = ?", [$0.rawValue])
    }
    let belongings = try Belongings(db, of: rows.map { $0["id"] })
    return try rows.map(belongings.user)
  }
}
