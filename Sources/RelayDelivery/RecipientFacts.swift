// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The recipient's membership, presence and preferences for the room of the message.
public struct RecipientFacts: Equatable, Sendable, Codable {
  public var user: UserID
  public var isMember: Bool
  /// True if a backend has suspended the user.
  public var isSuspended: Bool
  public var hasBlockedSender: Bool
  /// True if the read mark has reached the message.
  public var hasRead: Bool
  /// True if the stored received mark has reached the message. Sessions move this mark when they are active at the
  /// receipt, or become active later.
  public var hasReceivedActively: Bool
  /// The recipient's preference for the room at this time.
  public var roomLevel: RoomLevel
  /// True if the message mentions the recipient.
  public var isMentioned: Bool
  /// True if the message mentions the recipient by name, or answers a message of the recipient. Optional facts are
  /// absent instead of false.
  public var isNamed: Bool?
  /// True if the room has more than `pushedMembersPerRoom` members.
  public var isRoomTooLarge: Bool?
  /// True if the sender calls the recipient more often than the pace allows.
  public var isOverCallPace: Bool?
  /// True if the sender's alerts at the level `critical` to the recipient exceed their pace.
  public var isOverCriticalPace: Bool?
  /// True if no further push of an invitation may reach the recipient today.
  public var isInvitedTooOften: Bool?
  /// The recipient's own label of the room.
  public var roomCriteria: String?
  /// The recipient's preference for a push to a device that a Focus silences, or whose filter refuses the push.
  public var onFocus: SilenceMode
  /// True if the recipient lets messages of this sender, or mentions, break through quiet hours.
  public var breaksQuietHours: Bool?
  /// True if the recipient does not let calls break through quiet hours.
  public var quietCalls: Bool?
  /// True if the recipient does not let time-sensitive messages break through quiet hours.
  public var quietTimeSensitive: Bool?
  /// The preference for a message that an active session has received: the relay pushes it if it is still unread after
  /// these seconds. Is `nil` if the relay does not push it.
  public var pushUnreadAfter: Int?
  /// The sessions that have joined the room and are not closing.
  public var sessions: [SessionFacts]
  /// The end of the last session that was not in the background. It does not count while such a session is open. If it
  /// is `nil`, the end is unknown and has no grace.
  public var away: AwayFacts?

  public init(
    user: UserID, isMember: Bool = true, isSuspended: Bool = false, hasBlockedSender: Bool = false,
    hasRead: Bool = false,
    hasReceivedActively: Bool = false, roomLevel: RoomLevel = .all, isMentioned: Bool = false, isNamed: Bool = false,
    isRoomTooLarge: Bool = false, isOverCallPace: Bool = false, isOverCriticalPace: Bool = false,
    isInvitedTooOften: Bool = false, roomCriteria: String? = nil, onFocus: SilenceMode = .deliver,
    breaksQuietHours: Bool = false, quietCalls: Bool = false, quietTimeSensitive: Bool = false,
    pushUnreadAfter: Int? = nil, sessions: [SessionFacts] = [], away: AwayFacts? = nil
  ) {
    self.user = user
    self.isMember = isMember
    self.isSuspended = isSuspended
    self.hasBlockedSender = hasBlockedSender
    self.hasRead = hasRead
    self.hasReceivedActively = hasReceivedActively
    self.roomLevel = roomLevel
    self.isMentioned = isMentioned
    self.isNamed = isNamed ? true : nil
    self.isRoomTooLarge = isRoomTooLarge ? true : nil
    self.isOverCallPace = isOverCallPace ? true : nil
    self.isOverCriticalPace = isOverCriticalPace ? true : nil
    self.isInvitedTooOften = isInvitedTooOften ? true : nil
    self.roomCriteria = roomCriteria
    self.onFocus = onFocus
    self.breaksQuietHours = breaksQuietHours ? true : nil
    self.quietCalls = quietCalls ? true : nil
    self.quietTimeSensitive = quietTimeSensitive ? true : nil
    self.pushUnreadAfter = pushUnreadAfter
    self.sessions = sessions
    self.away = away
  }

  /// True if the recipient has muted the room for this message.
  public var isMuted: Bool {
    switch roomLevel {
    case .all: false
    case .mentions: !isMentioned
    case .none: true
    }
  }
}

/// One of the recipient's sessions in the room.
public struct SessionFacts: Equatable, Sendable, Codable {
  public var activity: Activity
  public var writing: Writing
  /// True if the session has sent `received`. For a session that does not acknowledge: if it has answered a ping that
  /// the relay sent after the message.
  public var hasReceived: Bool

  public init(activity: Activity, writing: Writing, hasReceived: Bool = false) {
    self.activity = activity
    self.writing = writing
    self.hasReceived = hasReceived
  }

  /// The state of the message in the session's queue.
  public enum Writing: Equatable, Sendable, Codable {
    /// The message waits in the session's queue.
    case pending
    /// The relay has written the message, live or in a reply.
    case written(at: Timestamp)
    /// The session will not receive the message: it joined later, and the reply to `join` did not contain the message.
    case missed(joined: Timestamp)
  }
}

/// The end of the recipient's last session in the room.
public struct AwayFacts: Equatable, Sendable, Codable {
  /// The end of the last session that was not in the background. For a user who has had none since the relay started,
  /// the start.
  public var since: Timestamp
  /// True if the session ended on purpose: by a close frame with code 1000, by `leave` with `stay`, or by a change to
  /// the background.
  public var isClean: Bool

  public init(since: Timestamp, isClean: Bool) {
    self.since = since
    self.isClean = isClean
  }
}
