// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// One message, one recipient and one of the recipient's devices: all that a decision looks at.
public struct DeliveryCase: Equatable, Sendable {
  public var message: MessageFacts
  public var recipient: RecipientFacts
  /// nil: the recipient has registered none.
  public var device: DeviceFacts?
  public var now: Timestamp

  public init(message: MessageFacts, recipient: RecipientFacts, device: DeviceFacts?, now: Timestamp) {
    self.message = message
    self.recipient = recipient
    self.device = device
    self.now = now
  }
}

/// What a message asks of those it reaches.
public enum MessageKind: String, Sendable, CaseIterable {
  case message
  /// Rings at once on every device: nothing is waited for.
  case call
}

/// How much a push may disturb: `UNNotificationInterruptionLevel`.
public enum Level: String, Sendable, CaseIterable {
  case passive, active, timeSensitive, critical
}

/// The message that a decision is about.
public struct MessageFacts: Equatable, Sendable {
  public var sender: UserID
  /// When it was accepted.
  public var time: Timestamp
  /// The first moment at which nobody is to be pushed to any more.
  public var expires: Timestamp
  public var kind: MessageKind
  public var level: Level
  /// Whether the message and its room both want pushes.
  public var isPushAsked: Bool
  public var isDeleted: Bool

  public init(
    sender: UserID, time: Timestamp, expires: Timestamp, kind: MessageKind = .message, level: Level = .active,
    isPushAsked: Bool = true, isDeleted: Bool = false
  ) {
    self.sender = sender
    self.time = time
    self.expires = expires
    self.kind = kind
    self.level = level
    self.isPushAsked = isPushAsked
    self.isDeleted = isDeleted
  }
}

/// Where the recipient stands in the room of the message.
public struct RecipientFacts: Equatable, Sendable {
  public var user: UserID
  public var isMember: Bool
  /// Whether the read mark has reached the message.
  public var hasRead: Bool
  /// Whether the stored received mark has reached it: the mark of sessions that were active when they received, or
  /// became active since.
  public var hasReceivedActively: Bool
  /// Those that have joined the room and are not closing.
  public var sessions: [SessionFacts]
  /// How the last such session ended. Where there are sessions it does not count; nil, where there are none, is not
  /// known, and an unknown end is not waited for.
  public var away: AwayFacts?

  public init(
    user: UserID, isMember: Bool = true, hasRead: Bool = false, hasReceivedActively: Bool = false,
    sessions: [SessionFacts] = [], away: AwayFacts? = nil
  ) {
    self.user = user
    self.isMember = isMember
    self.hasRead = hasRead
    self.hasReceivedActively = hasReceivedActively
    self.sessions = sessions
    self.away = away
  }
}

/// One of the recipient's sessions in the room.
public struct SessionFacts: Equatable, Sendable {
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
  public enum Writing: Equatable, Sendable {
    /// It waits in the session's queue.
    case pending
    /// Written, live or in a reply.
    case written(at: Timestamp)
    /// It never will be: the session joined after it, and the reply did not contain it.
    case missed(joined: Timestamp)
  }
}

/// How the recipient left the room.
public struct AwayFacts: Equatable, Sendable {
  /// When the last session ended; the server's start for who was not here since.
  public var since: Timestamp
  /// It ended on purpose: by a close frame with code 1000, or a `leave` with `stay`.
  public var isClean: Bool

  public init(since: Timestamp, isClean: Bool) {
    self.since = since
    self.isClean = isClean
  }
}

/// A registered device. That there is one is all that is asked of it.
public struct DeviceFacts: Equatable, Sendable {
  public init() {}
}
