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
    // Names need no escape in JSON.
    let names = "[" + users.map { "\"\($0.rawValue)\"" }.joined(separator: ",") + "]"
    let ids = "SELECT id FROM users WHERE name IN (SELECT value FROM json_each(?))"
    let belongings = try Belongings(db, of: ids, [names])
    var records: [UserID: UserRecord] = [:]
    for row in try db.all("SELECT id, name, display_name, avatar, last_seen FROM users WHERE id IN (\(ids))", [names]) {
      let record = belongings.user(row)
      records[record.user.id] = record
    }
    return users.compactMap { records[$0] }
  }
}

/// The focus and the devices of many users, by the users' row ids.
struct Belongings {
  private var focus: [Int64: [FocusRecord]] = [:]
  private var devices: [Int64: [Device]] = [:]

  /// - Parameter users: A query of row ids.
  init(_ db: Database, of users: String, _ arguments: StatementArguments) throws {
    let reports = try db.all(
      """
      SELECT user, device, is_focused, authorization, at, number, source, heard FROM focus
      WHERE user IN (\(users)) ORDER BY user, device
      """,
      arguments)
    for row in reports { try focus[row[0], default: []].append(FocusRecord(row)) }
    let registrations = try db.all(
      "SELECT user, device, app, platform, token FROM devices WHERE user IN (\(users)) ORDER BY user, device",
      arguments)
    for row in registrations {
      try devices[row[0], default: []].append(
        Device(id: DeviceID(unchecked: row[1]), app: row[2], platform: row.choice(3), token: row[4]))
    }
  }

  /// - Parameter row: Begins with id, name, display_name, avatar, last_seen.
  func user(_ row: Row) -> UserRecord {
    let id: Int64 = row[0]
    let lastSeen: Int64? = row[4]
    return UserRecord(
      user: User(id: UserID(unchecked: row[1]), name: row[2], avatar: row[3]),
      lastSeen: lastSeen.map(Timestamp.init(rawValue:)), focus: focus[id] ?? [], devices: devices[id] ?? [])
  }
}

extension FocusRecord {
  /// - Parameter row: user, device, is_focused, authorization, at, number, source, heard.
  fileprivate init(_ row: Row) throws {
    self.init(
      device: DeviceID(unchecked: row[1]), isFocused: row[2], authorization: try row.choice(3),
      at: Timestamp(rawValue: row[4]), number: row[5], source: row[6] == nil ? nil : try row.choice(6),
      heard: Timestamp(rawValue: row[7]))
  }
}
