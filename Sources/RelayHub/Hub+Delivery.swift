// SPDX-License-Identifier: Apache-2.0
import CRelay
public import RelayProtocol

/// A message of which it is not decided whether a member is pushed to.
public struct UndecidedMessage: Sendable {
  public let seq: Int64
  public let time: Timestamp
  /// When it was written to the sessions in the room.
  public let shown: Timestamp
  /// nil: the hub does not know the sender any more.
  public let from: UserHandle?
  public let isOwn: Bool
}

/// One of a member's sessions in the room.
public struct MemberSession: Sendable {
  public let activity: Activity
  public let joined: Timestamp
  /// From which seq on it was given the messages, in the reply to `join` or live.
  public let givenFrom: Int64
  /// Up to which seq it has received; of what it was given, when it does not acknowledge.
  public let received: Int64
  public let acknowledges: Bool
  /// When all that had waited was written last.
  public let drained: Timestamp
  /// Since when something waits to be written.
  public let blocked: Timestamp?
}

/// The decision about one message for one member.
public struct DecidedSeq: Sendable {
  public let seq: Int64
  /// For how long the message waits, unless something changes before; nil: it is decided.
  public let wait: Duration?

  public init(_ seq: Int64, wait: Duration? = nil) {
    self.seq = seq
    self.wait = wait
  }
}

/// What a decision looks at, of a member.
public struct MemberFacts: Sendable {
  public let read: Int64
  /// Up to which seq a session that was looked at, then or since, has received.
  public let received: Int64
  public let awaySince: Timestamp
  public let isClean: Bool
  public let sessions: [MemberSession]
}

extension Hub {
  /// Members to push to with the message itself: they have a device and no pending wait.
  /// - Parameters:
  ///   - rings: The message waits for nobody.
  ///   - isReported: Who has no device, or has blocked the sender, is among them.
  /// - Returns: These, and whether somebody else but the sender has to be waited for.
  public func away(
    in room: RoomHandle, sender: UserID, rings: Bool, isReported: Bool
  ) -> (users: [UserHandle], needsWait: Bool) {
    var needsWait = false
    let members = memberCount(of: room)
    let users = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: members) { buffer in
      let count = relay_room_away(
        hub, room.rawValue, sender.rawValue, rings, isReported, buffer.baseAddress, members, &needsWait)
      return buffer.prefix(count).map(UserHandle.init(rawValue:))
    }
    return (users, needsWait)
  }

  /// The messages that are due to be decided for a member, oldest first, at most `limit` and ``mostUndecided`` of them.
  ///
  /// The member is not due again before ``decide(_:_:_:)``.
  public func undecided(_ room: RoomHandle, _ user: UserHandle, limit: Int = mostUndecided) -> [UndecidedMessage] {
    let limit = min(limit, Self.mostUndecided)
    let messages = [relay_undecided](unsafeUninitializedCapacity: limit) { buffer, count in
      count = relay_member_undecided(hub, room.rawValue, user.rawValue, buffer.baseAddress, limit)
    }
    return messages.map {
      UndecidedMessage(
        seq: $0.seq, time: Timestamp(rawValue: $0.time), shown: Timestamp(rawValue: $0.shown),
        from: UserHandle(id: $0.from), isOwn: $0.is_own)
    }
  }

  public static let mostUndecided = 256

  /// The facts about a member that a decision needs. Is `nil` if the user is no member of the room.
  public func member(_ user: UserHandle, of room: RoomHandle) -> MemberFacts? {
    var facts = relay_member_facts()
    guard relay_member_get(hub, room.rawValue, user.rawValue, &facts) else { return nil }
    let sessions = withUnsafeBytes(of: &facts.session) { bytes in
      bytes.bindMemory(to: relay_presence_facts.self).prefix(facts.sessions).map(MemberSession.init)
    }
    return MemberFacts(
      read: facts.read, received: facts.received, awaySince: Timestamp(rawValue: facts.away_since),
      isClean: facts.is_clean, sessions: sessions)
  }

  /// Takes the decisions about messages of ``undecided(_:_:)``, in their order. A message that is missing is due again at
  /// once.
  public func decide(_ room: RoomHandle, _ user: UserHandle, _ decided: [DecidedSeq]) {
    let decided = decided.map { relay_decided(seq: $0.seq, delay: $0.wait.map { max(1, $0.milliseconds) } ?? -1) }
    relay_member_decide(hub, room.rawValue, user.rawValue, decided, decided.count)
  }

  /// Sends a ping to the sessions of the member that do not acknowledge, so that their pongs say what they have received.
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

  public func setRead(_ seq: Int64, _ user: UserHandle, in room: RoomHandle) {
    _ = relay_room_read(hub, room.rawValue, user.rawValue, seq)
  }
}

extension MemberSession {
  init(_ facts: relay_presence_facts) {
    activity =
      switch facts.activity {
      case RELAY_ACTIVE: .active
      case RELAY_IDLE: .idle
      default: .background
      }
    joined = Timestamp(rawValue: facts.joined)
    givenFrom = facts.given_from
    received = facts.received
    acknowledges = facts.acks
    drained = Timestamp(rawValue: facts.drained)
    blocked = facts.blocked == 0 ? nil : Timestamp(rawValue: facts.blocked)
  }
}
