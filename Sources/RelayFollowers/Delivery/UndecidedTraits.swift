// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol

/// The traits of the undecided messages, by room. The hub does not store them.
struct UndecidedTraits {
  private var rooms: [RoomHandle: [Int64: MessageTraits]] = [:]

  subscript(room: RoomHandle, seq: Int64) -> MessageTraits? {
    get { rooms[room]?[seq] }
    set { rooms[room, default: [:]][seq] = newValue }
  }

  /// Forgets the messages up to `seq`, because they are decided for all members.
  mutating func forget(_ room: RoomHandle, upTo seq: Int64) {
    guard let waiting = rooms[room] else { return }
    let left = waiting.filter { $0.key > seq }
    rooms[room] = left.isEmpty ? nil : left
  }

  mutating func forget(_ room: RoomHandle) { rooms[room] = nil }
}
