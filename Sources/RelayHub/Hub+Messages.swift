// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

/// A message as it is shown.
public struct ShownMessage: Sendable {
  public var from: UserID
  /// The session that sent it, which is not shown it.
  public var sender: SessionHandle?
  public var body: [UInt8]
  /// Further members of the event, which begin with a comma, or nothing.
  public var more: [UInt8]
  /// Nobody is pushed to for it.
  public var isSilent: Bool
  /// Whose push was decided with the message.
  public var decided: [UserHandle]
  /// Who sent it has not read what came before.
  public var keepsMarks: Bool
  /// Each member that is not in ``decided`` is due at once.
  public var isDueNow = false

  public init(
    from: UserID, sender: SessionHandle?, body: [UInt8], more: [UInt8] = [], isSilent: Bool = false,
    decided: [UserHandle] = [], keepsMarks: Bool = false
  ) {
    self.from = from
    self.sender = sender
    self.body = body
    self.more = more
    self.isSilent = isSilent
    self.decided = decided
    self.keepsMarks = keepsMarks
  }
}

/// Whom a message would reach now: each member but the sender, as the sender may see them.
public struct DeliveryCounts: Equatable, Sendable {
  /// With a session in the room that is not in the background.
  public var live: Int
  /// Away for less than the grace.
  public var waiting: Int
  public var away: Int
}

extension Hub {
  /// Shows a message that the store has numbered, and queues the waits of who may have to be pushed to.
  public func publish(_ message: ShownMessage, seq: Int64, time: Timestamp, in room: RoomHandle) {
    _ = show(message, seq: seq, time: time, in: room)
  }

  /// Shows a message in a room without a store, where the hub numbers it. nil: there is no such room.
  public func publish(_ message: ShownMessage, in room: RoomHandle) -> (seq: Int64, time: Timestamp)? {
    show(message, seq: 0, time: Timestamp(rawValue: 0), in: room)
  }

  private func show(
    _ message: ShownMessage, seq: Int64, time: Timestamp, in room: RoomHandle
  ) -> (seq: Int64, time: Timestamp)? {
    message.from.rawValue.withCString { from in
      message.body.withBytes { body in
        message.more.withBytes { more in
          message.decided.map(\.rawValue).withUnsafeBufferPointer { decided in
            var shown = relay_message(
              from: from, sender: message.sender?.rawValue ?? 0, body: body, more: more, seq: seq,
              time: time.rawValue, is_silent: message.isSilent, keeps_marks: message.keepsMarks,
              is_due_now: message.isDueNow, decided: decided.baseAddress, decided_count: decided.count)
            let seq = relay_room_publish(hub, room.rawValue, &shown)
            return seq == 0 ? nil : (seq, Timestamp(rawValue: shown.time))
          }
        }
      }
    }
  }

  /// An event to every session in the room but the one that caused it.
  public func tell(_ json: [UInt8], in room: RoomHandle, cause: SessionHandle?) {
    _ = json.withBytes { relay_room_tell(hub, room.rawValue, cause?.rawValue ?? 0, $0) }
  }

  /// Whether messages to the room push at all: it is one that does, and not too many are in it.
  public func pushes(_ room: RoomHandle) -> Bool { relay_room_pushes(hub, room.rawValue) }

  /// Whom a message would reach, and who lets the sender see their focus and has it on, or a filter; nobody of these
  /// in large rooms.
  public func delivery(in room: RoomHandle, from sender: UserHandle) -> (counts: DeliveryCounts, quiet: [UserHandle]) {
    var counts = relay_delivery()
    let members = memberCount(of: room)
    let quiet = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: members) { buffer in
      let count = relay_room_delivery(hub, room.rawValue, sender.rawValue, &counts, buffer.baseAddress, members)
      return buffer.prefix(count).map(UserHandle.init(rawValue:))
    }
    return (DeliveryCounts(live: counts.live, waiting: counts.waiting, away: counts.away), quiet)
  }
}
