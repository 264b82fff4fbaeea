// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// What of a message its delivery depends on, whoever the recipient is.
struct MessageTraits: Equatable, Sendable {
  var from: UserID
  var mentions: [UserID] = []
  var push = PushRequest()
  var isDeleted = false

  func facts(at time: Timestamp, isNotifyAnyway: Bool = false) -> MessageFacts {
    MessageFacts(
      sender: from, time: time, expires: push.expires(from: time), kind: push.kind, level: push.level,
      isUrgentAllowed: push.isUrgentAllowed, criteria: push.criteria, isPushAsked: push.isAsked, isDeleted: isDeleted,
      isNotifyAnyway: isNotifyAnyway, isSilent: push.isSilent)
  }

  /// Whether its body is all that there is to it.
  var isPlain: Bool { mentions.isEmpty && push == PushRequest() && !isDeleted }
}

/// What the hub does not know of messages that wait to be decided, by room.
struct UndecidedTraits {
  private var rooms: [RoomHandle: [Int64: MessageTraits]] = [:]

  subscript(room: RoomHandle, seq: Int64) -> MessageTraits? {
    get { rooms[room]?[seq] }
    set { rooms[room, default: [:]][seq] = newValue }
  }

  /// All up to `seq` are decided.
  mutating func forget(_ room: RoomHandle, upTo seq: Int64) {
    guard let waiting = rooms[room] else { return }
    let left = waiting.filter { $0.key > seq }
    rooms[room] = left.isEmpty ? nil : left
  }

  mutating func forget(_ room: RoomHandle) { rooms[room] = nil }
}
