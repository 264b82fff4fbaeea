// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayState

/// Members with undecided messages, in the order in which they are decided.
///
/// Rooms take turns, so that a large room does not delay the members of the others. The hub adds a member only once
/// until the member is decided, so the number of entries is at most the number of members in memory.
struct DueMembers {
  struct Member: Equatable {
    let room: RoomHandle
    let user: UserHandle
  }

  private var rooms: [RoomHandle: Line<UserHandle>] = [:]
  /// The rooms with due members, each once.
  private var turns = Line<RoomHandle>()

  var isEmpty: Bool { turns.isEmpty }

  mutating func append(_ user: UserHandle, of room: RoomHandle) {
    if rooms[room] == nil { turns.append(room) }
    rooms[room, default: Line()].append(user)
  }

  /// Removes and returns the next member, or `nil` if no member is due.
  mutating func next() -> Member? {
    guard let room = turns.removeFirst(), let user = rooms[room]?.removeFirst() else { return nil }
    if rooms[room]?.isEmpty == true { rooms[room] = nil } else { turns.append(room) }
    return Member(room: room, user: user)
  }
}
