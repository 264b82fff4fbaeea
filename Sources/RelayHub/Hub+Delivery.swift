// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayDelivery
public import RelayProtocol

// The hub's side of the delivery decision: it supplies the undecided messages and the facts, and takes the decisions.
// `RelayDelivery` decides, and `Deliveries` in `RelayFollowers` calls both.

/// A message for which a member's push is not decided yet.
public struct UndecidedMessage: Sendable {
  public let seq: Int64
  public let time: Timestamp
  /// The time at which the message was written to the sessions in the room.
  public let shown: Timestamp
  /// The sender. Is `nil` if the sender was not in memory when the message was sent.
  public let from: UserHandle?
  /// True if the member has sent the message.
  public let isOwn: Bool
}

/// The decision about one message for one member.
public struct DecidedSeq: Sendable {
  public let seq: Int64
  /// The time until the next decision, which is sooner if a fact changes. Is `nil` if the decision is final.
  public let wait: Duration?

  public init(_ seq: Int64, wait: Duration? = nil) {
    self.seq = seq
    self.wait = wait
  }
}

extension Hub {
  /// Members to push to immediately: they have a device and no pending wait.
  /// - Parameters:
  ///   - rings: Includes all members with a device, because a call does not wait.
  ///   - isReported: Includes members without a device and members who have blocked the sender.
  ///   - named: The only members to consider, if the room is crowded.
  /// - Returns: The members, and `needsWait`: true if the decision about another member must wait.
  public func away(
    in room: RoomHandle, sender: UserID, rings: Bool, isReported: Bool, named: [UserHandle]
  ) -> (users: [UserHandle], needsWait: Bool) {
    var needsWait = false
    let members = memberCount(of: room)
    let users = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: members) { buffer in
      let count = named.map(\.rawValue).withUnsafeBufferPointer { named in
        relay_room_away(
          hub, room.rawValue, sender.rawValue, rings, isReported, named.baseAddress, named.count, buffer.baseAddress,
          members, &needsWait)
      }
      return buffer.prefix(count).map(UserHandle.init(rawValue:))
    }
    return (users, needsWait)
  }

  /// The messages that are due to be decided for a member, oldest first.
  ///
  /// The hub sends no further ``HubEvent/due(_:_:)`` for the member before ``decide(_:_:_:)``.
  /// - Parameter limit: The maximum number of messages, at most ``maxUndecided``.
  public func undecided(_ room: RoomHandle, _ user: UserHandle, limit: Int = maxUndecided) -> [UndecidedMessage] {
    let limit = min(limit, Self.maxUndecided)
    let messages = [relay_undecided](unsafeUninitializedCapacity: limit) { buffer, count in
      count = relay_member_undecided(hub, room.rawValue, user.rawValue, buffer.baseAddress, limit)
    }
    return messages.map {
      UndecidedMessage(
        seq: $0.seq, time: Timestamp(rawValue: $0.time), shown: Timestamp(rawValue: $0.shown),
        from: UserHandle(id: $0.from), isOwn: $0.is_own)
    }
  }

  /// The maximum number of messages that ``undecided(_:_:limit:)`` returns.
  public static let maxUndecided = 256

  /// The facts about a member that a decision needs. Returns `nil` if the user is not a member of the room.
  public func member(_ user: UserHandle, of room: RoomHandle) -> RoomMember? {
    var facts = relay_member_facts()
    guard relay_member_get(hub, room.rawValue, user.rawValue, &facts) else { return nil }
    let sessions = withUnsafeBytes(of: &facts.session) { bytes in
      bytes.bindMemory(to: relay_presence_facts.self).prefix(facts.sessions).map(RoomSession.init)
    }
    return RoomMember(
      marks: Marks(read: facts.read, received: facts.received),
      presence: RoomPresence(
        sessions: sessions, away: AwayFacts(since: Timestamp(rawValue: facts.away_since), isClean: facts.is_clean)))
  }

  /// Takes the decisions about the messages of ``undecided(_:_:limit:)``, in the same order. A message without a
  /// decision is due again immediately.
  public func decide(_ room: RoomHandle, _ user: UserHandle, _ decided: [DecidedSeq]) {
    let decided = decided.map { relay_decided(seq: $0.seq, delay: $0.wait.map { max(1, $0.milliseconds) } ?? -1) }
    relay_member_decide(hub, room.rawValue, user.rawValue, decided, decided.count)
  }

  /// Sends a ping to the member's sessions in the room that send no acknowledgements. Their pongs show that all earlier
  /// messages have arrived.
  public func ping(_ user: UserHandle, in room: RoomHandle) {
    relay_member_ping(hub, room.rawValue, user.rawValue)
  }

  /// The members who do not let the sender see whether they are online.
  public func hidden(in room: RoomHandle, from sender: UserHandle) -> [UserHandle] {
    let members = memberCount(of: room)
    let users = [UInt64](unsafeUninitializedCapacity: members) { buffer, count in
      count = relay_room_hidden(hub, room.rawValue, sender.rawValue, buffer.baseAddress, members)
    }
    return users.map(UserHandle.init(rawValue:))
  }

  /// Raises the user's read mark. A lower value changes nothing.
  public func setRead(_ seq: Int64, _ user: UserHandle, in room: RoomHandle) {
    _ = relay_room_read(hub, room.rawValue, user.rawValue, seq)
  }

  /// Returns true if the user's marks are not stored. The caller stores them, and no ``HubEvent/marked`` follows.
  public func takeMarks(of user: UserHandle, in room: RoomHandle) -> Bool {
    relay_room_take_marks(hub, room.rawValue, user.rawValue)
  }
}

extension RoomSession {
  fileprivate init(_ facts: relay_presence_facts) {
    self.init(
      activity: Activity(facts.activity), joined: Timestamp(rawValue: facts.joined), givenFrom: facts.given_from,
      received: facts.received, acknowledges: facts.acks, drained: Timestamp(rawValue: facts.drained),
      blocked: facts.blocked == 0 ? nil : Timestamp(rawValue: facts.blocked))
  }
}
