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
    let ids = "SELECT id FROM users WHERE name IN (SELECT value FROM json_each(?))"
    let names = users.asJSON
    let belongings = try Belongings(db, of: ids, [names])
    var records: [UserID: UserRecord] = [:]
    let rows = try db.all(
      "SELECT \(Belongings.columns) FROM users WHERE id IN (\(ids))", [names])
    for row in rows {
      let record = try belongings.user(row)
      records[record.user.id] = record
    }
    return users.compactMap { records[$0] }
  }
}
