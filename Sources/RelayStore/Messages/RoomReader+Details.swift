// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

extension RoomReader {
  /// The details of a room, or the defaults if the room has no record of them. Is `nil` when the room does not exist.
  public func details(of room: RoomID) throws -> RoomDetails? {
    try db.first(
      "SELECT \(RoomDetails.columns()) FROM rooms LEFT JOIN details ON details.room = rooms.id WHERE rooms.name = ?",
      [room.rawValue]
    ) { try RoomDetails($0) }
  }

  /// The direct room of two users, and true if both are members. Is `nil` when there is none.
  public func direct(of a: UserID, _ b: UserID) throws -> (room: RoomID, isComplete: Bool)? {
    try db.first(
      """
      SELECT rooms.name, (
        SELECT count(*) FROM users CROSS JOIN members ON members.room = directs.room AND members.user = users.id
        WHERE users.name IN (?1, ?2)) = 2 AS is_complete
      FROM directs JOIN rooms ON rooms.id = directs.room WHERE low = ?1 AND high = ?2
      """,
      [RoomPair(a, b).low.rawValue, RoomPair(a, b).high.rawValue]
    ).map { (RoomID(unchecked: $0["name"]), $0["is_complete"]) }
  }

  /// The two people of a direct room, also those who are no members. Is `nil` for a group.
  func pair(of room: Int64) throws -> RoomPair? {
    try db.first("SELECT low, high FROM directs WHERE room = ?", [room]).map {
      RoomPair(low: UserID(unchecked: $0["low"]), high: UserID(unchecked: $0["high"]))
    }
  }
}

extension RoomPair {
  /// The pair of two users in any order.
  init(_ a: UserID, _ b: UserID) { self.init(low: min(a, b), high: max(a, b)) }
}

extension RoomDetails {
  /// Columns of `details`. All are NULL for a room without a record.
  static func columns(withMetadata: Bool = true) -> String {
    """
    details.kind, details.join_rule, details.title, details.avatar, \(withMetadata ? "details.metadata" : "NULL"),
    details.read_only, details.version, details.created
    """
  }

  /// - Parameter first: The index of the first of the ``columns(withMetadata:)`` in the row.
  init(_ row: Row, at first: Int = 0) throws {
    self.init(
      kind: try row.choiceIfAny(first) ?? .group, join: try row.choiceIfAny(first + 1) ?? .open,
      title: row.line(first + 2), avatar: row[first + 3], metadata: try row.bytesIfAny(first + 4),
      isReadOnly: row[first + 5] ?? false, version: row[first + 6] ?? 0, created: row.time(first + 7))
  }
}
