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
        SELECT rooms.name, rooms.seq, activity.members, details.kind, details.title FROM rooms
        LEFT JOIN activity ON activity.room = rooms.id LEFT JOIN details ON details.room = rooms.id
        WHERE rooms.name >= ? AND rooms.name < ? ORDER BY rooms.name LIMIT ?
        """,
        [part.start, part.end, limit - found.count]
      ) { row in
        ListedRoom(
          room: RoomID(unchecked: row["name"]), seq: row["seq"], members: row["members"] ?? 0,
          kind: try row.choiceIfAny("kind") ?? .group, title: row.line("title"))
      }
    }
    return found
  }
}
