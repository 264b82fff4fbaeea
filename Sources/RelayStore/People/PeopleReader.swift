// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// Reads users with their devices and reports.
public struct PeopleReader {
  let db: Database

  /// Returns `nil` for a user who has no row.
  public func user(_ user: UserID) throws -> UserRecord? {
    try users([user]).first
  }

  /// True if the user has connected, has a device, or is a member of a room.
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
    let found = try users.compactMap { user in
      try db.first("SELECT \(UserRecord.columns) FROM users WHERE name = ?", [user.rawValue]) { row in
        (id: row["id"] as Int64, record: try UserRecord(row))
      }
    }
    let details = try UserDetails(db, of: found.map(\.id))
    return found.map { id, record in
      var record = record
      details.complete(&record, id)
      return record
    }
  }

  /// The restrictions of all users who have one. Called at the start.
  public func access() throws -> [UserID: UserAccess] {
    let rows = try db.all("SELECT user, is_suspended, until, reason, not_before FROM access") { row in
      (UserID(unchecked: row["user"]), UserAccess(row))
    }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  /// The restrictions of one user.
  public func access(of user: UserID) throws -> UserAccess {
    try db.first(
      "SELECT is_suspended, until, reason, not_before FROM access WHERE user = ?", [user.rawValue], UserAccess.init(_:))
      ?? UserAccess()
  }

  /// True if one of two users has blocked the other.
  public func hasBlock(between user: UserID, _ other: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM users JOIN blocks ON blocks.user = users.id
        AND blocks.other = CASE users.name WHEN ?1 THEN ?2 ELSE ?1 END
      WHERE users.name IN (?1, ?2)
      """,
      [user.rawValue, other.rawValue])
  }

  /// The number of users who are stored as online.
  public func onlineCount() throws -> Int {
    try db.first("SELECT count(*) FROM users INDEXED BY users_online WHERE activity IS NOT NULL")?[0] ?? 0
  }

  /// A page of the users who are stored as online.
  /// - Parameter position: The position of the last user of the page before, or 0 for the first page.
  public func online(after position: Int64, limit: Int) throws -> [(position: Int64, user: UserID)] {
    try db.all(
      """
      SELECT id, name FROM users INDEXED BY users_online WHERE activity IS NOT NULL AND id > ? ORDER BY id LIMIT ?
      """,
      [position, limit]
    ) { (position: $0["id"], user: UserID(unchecked: $0["name"])) }
  }

  /// The owner of a report key. Is `nil` if the key is unknown or was revoked.
  public func ownerOfReportKey(hash: [UInt8]) throws -> ReportKeyOwner? {
    let row = try db.first(
      "SELECT users.name, device, users.grants FROM report_keys JOIN users ON users.id = user WHERE hash = ?",
      [Data(hash)])
    return try row.map {
      ReportKeyOwner(
        user: UserID(unchecked: $0["name"]), device: DeviceID(unchecked: $0["device"]),
        grants: try $0.bytesIfAny("grants"))
    }
  }
}

extension UserAccess {
  /// - Parameter row: A row of `access`.
  fileprivate init(_ row: Row) {
    let suspension = Suspension(until: row.time("until"), reason: row["reason"])
    self.init(suspension: row["is_suspended"] ? suspension : nil, notBefore: row.time("not_before"))
  }
}
