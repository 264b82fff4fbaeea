// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A stored room in a list for operators.
public struct ListedRoom: Equatable, Sendable {
  public var room: RoomID
  /// The newest message; 0: there is none yet.
  public var seq: Int64
  public var members: Int
  public var kind: RoomKind
  public var title: String?
}

extension RoomReader {
  /// A page of the stored rooms with a name of the range, in the order of their names. Leaves out deleted rooms, and
  /// the rooms that hold the notifications of one user.
  package func rooms(in range: NameRange, limit: Int) throws -> [ListedRoom] {
    var found: [ListedRoom] = []
    for part in Schema.namedRooms.compactMap({ range.limited(from: $0, to: $1) }) where found.count < limit {
      found += try db.all(
        """
        SELECT \(ListedRoom.columns) FROM rooms
        LEFT JOIN activity ON activity.room = rooms.id LEFT JOIN details ON details.room = rooms.id
        WHERE rooms.name >= ? AND rooms.name < ? ORDER BY rooms.name LIMIT ?
        """,
        [part.start, part.end, limit - found.count], ListedRoom.init(_:))
    }
    return found
  }

  /// The rooms with the newest messages, the newest first. A room without a message counts by its creation.
  package func recentRooms(limit: Int) throws -> [ListedRoom] {
    try db.all(
      """
      SELECT \(ListedRoom.columns) FROM activity INDEXED BY activity_position
      JOIN rooms ON rooms.id = activity.room LEFT JOIN details ON details.room = rooms.id
      WHERE activity.position >= 0 ORDER BY activity.position DESC LIMIT ?
      """,
      [limit], ListedRoom.init(_:))
  }
}

extension ListedRoom {
  fileprivate static let columns = "rooms.name, rooms.seq, activity.members, details.kind, details.title"

  /// - Parameter row: Has the ``columns``.
  fileprivate init(_ row: Row) throws {
    self.init(
      room: RoomID(unchecked: row["name"]), seq: row["seq"], members: row["members"] ?? 0,
      kind: try row.choiceIfAny("kind") ?? .group, title: row.line("title"))
  }
}
