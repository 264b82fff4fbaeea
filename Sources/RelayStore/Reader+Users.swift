// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Reader {
  /// nil: nothing is known of this user.
  public func user(_ user: UserID) throws -> UserRecord? {
    try users([user]).first
  }

  /// The users of whom something is known, in the order asked for.
  public func users(_ users: [UserID]) throws -> [UserRecord] {
    let ids = "SELECT id FROM users WHERE name IN (SELECT value FROM json_each(?))"
    let names = users.asJSON
    let belongings = try Belongings(db, of: ids, [names])
    var records: [UserID: UserRecord] = [:]
    let rows = try db.all(
      "SELECT id, name, display_name, avatar, last_seen, preferences FROM users WHERE id IN (\(ids))", [names])
    for row in rows {
      let record = try belongings.user(row)
      records[record.user.id] = record
    }
    return users.compactMap { records[$0] }
  }
}
