// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

// Publishes messages and events to the sessions in a room, and counts the members that a message would reach.

/// A message to publish.
public struct ShownMessage: Sendable {
  public var from: UserID
  /// The session that sent the message. It does not receive the event.
  public var sender: SessionHandle?
  public var body: [UInt8]
  /// Further JSON members of the event, with a leading comma. May be empty.
  public var more: [UInt8] = []
  /// The same, with a text of an earlier message: only the sessions that ``Hub/mayRead(_:by:in:)`` this message get
  /// them.
  public var quote: (seq: Int64, members: [UInt8])?
  /// True if the message causes no pushes.
  public var isSilent = false
  /// The members whose pushes were decided with the message.
  public var decided: [UserHandle] = []
  /// True if the message does not raise the sender's read mark, because the sender has not read the earlier messages.
  public var keepsMarks = false
  /// True if the members outside ``decided`` are decided immediately, without the usual waits.
  public var isDueNow = false
  /// The only members to push to, if the room is crowded.
  public var named: [UserHandle] = []

  public init(from: UserID, sender: SessionHandle?, body: [UInt8]) {
    self.from = from
    self.sender = sender
    self.body = body
  }
}

/// The numbers of members that a message would reach now, by their presence as the sender may see it. The sender does
/// not count.
public struct DeliveryCounts: Equatable, Sendable {
  /// Members with a session in the room that is not in the background.
  public var live: Int
  /// Members who are away, but not longer than the grace.
  public var waiting: Int
  /// All other members.
  public var away: Int
}

extension Hub {
  /// Sends a stored message, which has its seq from the store, to the sessions in the room. Starts a wait for each
  /// member who may need a push.
  public func publish(_ message: ShownMessage, seq: Int64, time: Timestamp, in room: RoomHandle) {
    _ = show(message, seq: seq, time: time, in: room)
  }

  /// Sends a message in a room that stores no messages. The hub assigns its seq and time. Returns `nil` if the room
  /// does not exist.
  public func publish(_ message: ShownMessage, in room: RoomHandle) -> (seq: Int64, time: Timestamp)? {
    show(message, seq: 0, time: Timestamp(rawValue: 0), in: room)
  }

  private func show(
    _ message: ShownMessage, seq: Int64, time: Timestamp, in room: RoomHandle
  ) -> (seq: Int64, time: Timestamp)? {
    message.from.rawValue.withCString { from in
      message.body.withBytes { body in
        message.more.withBytes { more in
          (message.quote?.members ?? []).withBytes { quote in
            message.decided.map(\.rawValue).withUnsafeBufferPointer { decided in
              message.named.map(\.rawValue).withUnsafeBufferPointer { named in
                var shown = relay_message(
                  from: from, sender: message.sender?.rawValue ?? 0, body: body, more: more, quote: quote,
                  quoted: message.quote?.seq ?? 0, seq: seq, time: time.rawValue, is_silent: message.isSilent,
                  keeps_marks: message.keepsMarks, is_due_now: message.isDueNow, decided: decided.baseAddress,
                  decided_count: decided.count, named: named.baseAddress, named_count: named.count)
                let seq = relay_room_publish(hub, room.rawValue, &shown)
                return seq == 0 ? nil : (seq, Timestamp(rawValue: shown.time))
              }
            }
          }
        }
      }
    }
  }

  /// Sends an event to every session in the room except `requester`.
  /// - Parameter seq: The message of which the event has a text: only the sessions that ``mayRead(_:by:in:)`` this
  ///   message get the event. With `nil`, all sessions get it.
  public func sendEvent(_ json: [UInt8], in room: RoomHandle, requester: SessionHandle?, withTextOf seq: Int64?) {
    _ = json.withBytes { relay_room_send_event(hub, room.rawValue, requester?.rawValue ?? 0, seq ?? 0, $0) }
  }

  /// True if a session may read a message: it has ``RoomRights/history``, or the message was sent to it since it joined
  /// the room.
  public func mayRead(_ seq: Int64, by session: SessionHandle, in room: RoomHandle) -> Bool {
    relay_room_may_read(hub, room.rawValue, session.rawValue, seq)
  }

  /// True if messages to the room cause pushes, but the room has more than `pushedMembersPerRoom` members. The relay
  /// then pushes only to members that a message names or answers.
  public func isCrowded(_ room: RoomHandle) -> Bool { relay_room_is_crowded(hub, room.rawValue) }

  /// True if messages to the room cause pushes to all members: the room has ``RoomTraits/pushes``, and at most
  /// `pushedMembersPerRoom` members.
  public func pushes(_ room: RoomHandle) -> Bool { relay_room_pushes(hub, room.rawValue) }

  /// Counts the members that a message would reach now.
  /// - Returns: The counts, and `silenced`: the members who share their Focus with the sender and have it on or have a
  ///   filter. `silenced` is empty for a large room.
  public func delivery(in room: RoomHandle, from sender: UserHandle) -> (counts: DeliveryCounts, silenced: [UserHandle])
  {
    var counts = relay_delivery()
    let members = memberCount(of: room)
    let silenced = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: members) { buffer in
      let count = relay_room_delivery(hub, room.rawValue, sender.rawValue, &counts, buffer.baseAddress, members)
      return buffer.prefix(count).map(UserHandle.init(rawValue:))
    }
    return (DeliveryCounts(live: counts.live, waiting: counts.waiting, away: counts.away), silenced)
  }
}
