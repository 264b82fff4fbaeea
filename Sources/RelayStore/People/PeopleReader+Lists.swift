// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A user in a list for operators.
public struct ListedUser: Equatable, Sendable {
  public var id: UserID
  /// The name that others see.
  public var name: String?
  public var lastSeen: Timestamp?
  public var devices: Int
}

extension PeopleReader {
  /// A page of the users with a name of the range, in the order of their names. Leaves out the names that only a ban
  /// has mentioned.
  package func users(in range: NameRange, limit: Int) throws -> [ListedUser] {
    try db.all(
      """
      SELECT \(ListedUser.columns) FROM users WHERE name >= ? AND name < ? AND NOT is_only_named ORDER BY name LIMIT ?
      """,
      [range.start, range.end, limit], ListedUser.init(_:))
  }

  /// A page of the users who are stored as online. The relay has first seen them in this order.
  /// - Parameters:
  ///   - last: The last user of the page before, who may be offline now.
  ///   - range: Limits the names. SQLite reads all users who are online for it.
  /// - Returns: `nil` if there is no user `last`.
  package func onlineUsers(after last: UserID?, in range: NameRange, limit: Int) throws -> [ListedUser]? {
    var position: Int64 = 0
    if let last {
      guard let found = try db.first("SELECT id FROM users WHERE name = ?", [last.rawValue], { $0[0] as Int64 }) else {
        return nil
      }
      position = found
    }
    return try db.all(
      """
      SELECT \(ListedUser.columns) FROM users INDEXED BY users_online
      WHERE activity IS NOT NULL AND id > ? AND name >= ? AND name < ? ORDER BY id LIMIT ?
      """,
      [position, range.start, range.end, limit], ListedUser.init(_:))
  }
}

extension ListedUser {
  fileprivate static let columns = """
    name, display_name, last_seen, (SELECT count(*) FROM devices WHERE devices.user = users.id) AS device_count
    """

  /// - Parameter row: Has the ``columns``.
  fileprivate init(_ row: Row) {
    self.init(
      id: UserID(unchecked: row["name"]), name: row.line("display_name"), lastSeen: row.time("last_seen"),
      devices: row["device_count"])
  }
}
