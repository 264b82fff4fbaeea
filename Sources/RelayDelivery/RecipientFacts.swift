// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Where the recipient stands in the room of the message, and how they want to be told.
public struct RecipientFacts: Equatable, Sendable, Codable {
  public var user: UserID
  public var isMember: Bool
  public var hasBlockedSender: Bool
  /// Whether the read mark has reached the message.
  public var hasRead: Bool
  /// Whether the stored received mark has reached it: the mark of sessions that were active when they received, or
  /// became active since.
  public var hasReceivedActively: Bool
  /// What the recipient wants of the room now.
  public var roomLevel: RoomLevel
  /// Whether the message mentions the recipient.
  public var isMentioned: Bool
  /// The recipient's own label of the room.
  public var roomCriteria: String?
  /// What becomes of a push where a Focus silences the device, or filters it out.
  public var onFocus: SilenceMode
  /// The quiet hours that are on now; nil: none.
  public var quiet: QuietFacts?
  /// Those that have joined the room and are not closing.
  public var sessions: [SessionFacts]
  /// The end of the last session that was not in the background. It does not count while there is such a session. An end
  /// that is not known (`nil`) is not waited for.
  public var away: AwayFacts?

  public init(
    user: UserID, isMember: Bool = true, hasBlockedSender: Bool = false, hasRead: Bool = false,
    hasReceivedActively: Bool = false, roomLevel: RoomLevel = .all, isMentioned: Bool = false,
    roomCriteria: String? = nil, onFocus: SilenceMode = .deliver, quiet: QuietFacts? = nil,
    sessions: [SessionFacts] = [], away: AwayFacts? = nil
  ) {
    self.user = user
    self.isMember = isMember
    self.hasBlockedSender = hasBlockedSender
    self.hasRead = hasRead
    self.hasReceivedActively = hasReceivedActively
    self.roomLevel = roomLevel
    self.isMentioned = isMentioned
    self.roomCriteria = roomCriteria
    self.onFocus = onFocus
    self.quiet = quiet
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

/// Quiet hours that are on.
public struct QuietFacts: Equatable, Sendable, Codable {
  public var mode: SilenceMode
  /// The first moment after them.
  public var until: Timestamp

  public init(mode: SilenceMode, until: Timestamp) {
    self.mode = mode
    self.until = until
  }
}

/// One of the recipient's sessions in the room.
public struct SessionFacts: Equatable, Sendable, Codable {
  public var activity: Activity
  public var writing: Writing
  /// It said `received`, or, if it does not acknowledge, a pong came to a ping sent after the message.
  public var hasReceived: Bool

  public init(activity: Activity, writing: Writing, hasReceived: Bool = false) {
    self.activity = activity
    self.writing = writing
    self.hasReceived = hasReceived
  }

  /// Whether the message has left for the session.
  public enum Writing: Equatable, Sendable, Codable {
    /// It waits in the session's queue.
    case pending
    /// Written, live or in a reply.
    case written(at: Timestamp)
    /// It never will be: the session joined after it, and the reply did not contain it.
    case missed(joined: Timestamp)
  }
}

/// How the recipient left the room.
public struct AwayFacts: Equatable, Sendable, Codable {
  /// When the last session that was not in the background ended; the server's start for a user who was not here since.
  public var since: Timestamp
  /// It ended on purpose: by a close frame with code 1000, by a `leave` with `stay`, or by being put into the background.
  public var isClean: Bool

  public init(since: Timestamp, isClean: Bool) {
    self.since = since
    self.isClean = isClean
  }
}
