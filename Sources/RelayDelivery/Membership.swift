// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A recipient's membership and presence in the room of one message: facts for a decision.
public struct Membership: Equatable, Sendable {
  public var isMember: Bool
  /// True if the read mark has reached the message.
  public var hasRead = false
  /// True if the mark of active sessions has reached the message.
  public var hasReceivedActively = false
  public var sessions: [SessionFacts] = []
  public var away: AwayFacts?
  /// True if the room has more than `pushedMembersPerRoom` members.
  public var isRoomTooLarge = false
  /// True if no further push of an invitation may reach the user today.
  public var isInvitedTooOften = false

  /// A member without a session in the room, and without a mark that has reached the message. A notification belongs to
  /// no room, so its recipient counts as such a member.
  public static let absent = Membership(isMember: true)

  private init(isMember: Bool) { self.isMember = isMember }

  /// - Parameters:
  ///   - marks: The user's marks in the room. Is `nil` when the user is no member.
  ///   - presence: The user's presence in the room. Is `nil` when the decision waits for no session.
  ///   - shown: The time at which the relay wrote the message to the sessions in the room.
  public init(_ marks: Marks?, _ presence: RoomPresence?, at seq: Int64, shown: Timestamp) {
    isMember = marks != nil
    if let marks {
      hasRead = marks.read >= seq
      hasReceivedActively = marks.received >= seq
    }
    guard let presence else { return }
    sessions = presence.sessions.map { SessionFacts($0, of: seq, shown: shown) }
    away = presence.away
  }

  /// The membership of a user for a message that the relay would write to all sessions now.
  /// - Parameter presence: Is `nil` when the user is no member.
  public init(forNextMessage presence: RoomPresence?, now: Timestamp) {
    isMember = presence != nil
    sessions = presence?.sessions.map { SessionFacts(activity: $0.activity, writing: .written(at: now)) } ?? []
    away = presence?.away
  }
}

/// A member of a room, as the hub knows it.
public struct RoomMember: Equatable, Sendable {
  public var marks: Marks
  public var presence: RoomPresence

  public init(marks: Marks, presence: RoomPresence) {
    self.marks = marks
    self.presence = presence
  }
}

/// A member's sessions in a room, and the end of the last one.
public struct RoomPresence: Equatable, Sendable {
  public var sessions: [RoomSession]
  public var away: AwayFacts

  public init(sessions: [RoomSession] = [], away: AwayFacts) {
    self.sessions = sessions
    self.away = away
  }
}

/// One session in a room, as the hub knows it.
public struct RoomSession: Equatable, Sendable {
  public var activity: Activity
  public var joined: Timestamp
  /// The first message that the relay gave the session, in the reply to `join` or live.
  public var givenFrom: Int64
  /// The last message that the session has received. For a session that does not acknowledge, this counts only messages
  /// from ``givenFrom`` on.
  public var received: Int64
  public var acknowledges: Bool
  /// The last time at which the session's queue became empty.
  public var drained: Timestamp
  /// The time since which frames wait in the session's queue. Is `nil` when the queue is empty.
  public var blocked: Timestamp?

  public init(
    activity: Activity, joined: Timestamp, givenFrom: Int64, received: Int64, acknowledges: Bool, drained: Timestamp,
    blocked: Timestamp? = nil
  ) {
    self.activity = activity
    self.joined = joined
    self.givenFrom = givenFrom
    self.received = received
    self.acknowledges = acknowledges
    self.drained = drained
    self.blocked = blocked
  }
}

extension SessionFacts {
  fileprivate init(_ session: RoomSession, of seq: Int64, shown: Timestamp) {
    let wasGiven = seq >= session.givenFrom
    let writing: Writing =
      if !wasGiven {
        .missed(joined: session.joined)
      } else if let blocked = session.blocked, max(shown, session.joined) >= blocked {
        .pending
      } else {
        .written(at: max(shown, session.joined, session.drained))
      }
    self.init(
      activity: session.activity, writing: writing,
      hasReceived: session.received >= seq && (session.acknowledges || wasGiven))
  }
}
