// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// A message that has no seq yet.
public struct MessageDraft: Equatable, Sendable {
  public var room: RoomID
  public var from: User
  public var time: Timestamp
  /// Valid JSON.
  public var body: [UInt8]
  /// The users whom the message mentions.
  public var mentions: Mentions
  /// The seq of the message that this one replies to.
  public var replyTo: Int64?
  /// The parts of the answered message that the result of storing a reply has.
  public var quoting = QuotedParts.nothing
  /// The push that the sender requests. Is `nil` for the default.
  public var push: PushRequest?
  /// False if the message does not count as unread for anybody.
  public var isCounted: Bool
  /// True if the sender requests delivery reports.
  public var reports: Bool
  /// The users that the reply to the sender names as silenced. The sender may notify them anyway.
  public var silenced: [UserID]
  /// The idempotency key. A second attempt with the same key has no effect for ``keyLifetime``.
  public var key: String?
  /// The pushes that are already decided.
  public var jobs: [PlannedPush]
  /// True if no decision about the message is pending. The room's cursor then moves over the message, if the cursor is
  /// at the message before it.
  public var cursorFollows: Bool
  /// True if the sender has a device. Its notifications of earlier messages of the room end, because the sender has read
  /// them.
  public var hasPhones = false
  /// The limits of the room's history.
  public var retention: Retention
  /// The response whose text this message is. It is stored together with the message. If it was stored before, the
  /// message is a duplicate.
  @Rare public var response: ResponseDraft?
  /// The call that this message begins. Its push has the kind `call`.
  public var call: CallDraft?

  public init(
    room: RoomID, from: User, time: Timestamp, body: [UInt8], mentions: Mentions = [], replyTo: Int64? = nil,
    push: PushRequest? = nil, isCounted: Bool = true, reports: Bool = false, silenced: [UserID] = [],
    key: String? = nil,
    jobs: [PlannedPush] = [], cursorFollows: Bool = false, retention: Retention = .everything,
    response: ResponseDraft? = nil
  ) {
    self.room = room
    self.from = from
    self.time = time
    self.body = body
    self.mentions = mentions
    self.replyTo = replyTo
    self.push = push
    self.isCounted = isCounted
    self.reports = reports
    self.silenced = silenced
    self.key = key
    self.jobs = jobs
    self.cursorFollows = cursorFollows
    self.retention = retention
    self.response = response
  }

  /// True if the message has a body and nothing else.
  var isPlain: Bool {
    mentions.isEmpty && replyTo == nil && push == nil && isCounted && !reports && response == nil && call == nil
  }

  /// The time for which a key is stored.
  public static let keyLifetime = Duration.seconds(300)
}

/// A message on its way into the store. An object, because its sender and the store share it.
public final class QueuedMessage: Sendable {
  public let draft: MessageDraft

  public init(_ draft: MessageDraft) { self.draft = draft }
}

/// The parts of an answered message that a reader needs.
public enum QuotedParts: Sendable {
  case nothing
  /// The sender, and whether the message was deleted.
  case sender
  /// The sender and the preview.
  case preview
}

/// The result of storing a message, now or earlier for a duplicate.
public struct Appended: Equatable, Sendable {
  public var seq: Int64
  public var time: Timestamp
  public var epoch: String
  /// True if the key was known: `seq` and `time` belong to the first message, and nothing was written.
  public var isDuplicate: Bool
  /// The ids of the new jobs that will be sent.
  public var jobs: [String]
  /// The result of the response whose text the message is.
  @Rare public var response: Responded?
  /// The call that the message has begun.
  @Rare public var call: Call?
  /// The sender of the answered message, if it is in the history and has another sender.
  public var answered: UserID?
  /// The answered message in the state that the transaction has read. Is `nil` if the message is no reply, if its draft
  /// requests no part, or if the history does not have the answered message.
  @Rare public var quote: Quote?

  public init(
    seq: Int64, time: Timestamp, epoch: String, isDuplicate: Bool = false, jobs: [String] = [],
    response: Responded? = nil
  ) {
    self.seq = seq
    self.time = time
    self.epoch = epoch
    self.isDuplicate = isDuplicate
    self.jobs = jobs
    self.response = response
  }
}

/// The result of an edit or a deletion.
public struct Edited: Equatable, Sendable {
  /// The sender of the message.
  public var from: UserID
  /// The time at which the message was sent.
  public var time: Timestamp
  /// False if nothing was changed, because another user sent the message or it was already deleted.
  public var isChanged: Bool
  /// The room's newest message at that time.
  public var newest: Int64
  /// The number of the change in the room: 1, 2, 3 … Is 0 if nothing was changed.
  public var change: Int64 = 0
  /// The user who deleted the message of another user. Is `nil` for other deletions, and for an edit.
  public var moderator: UserID?
  /// The call that the deletion has ended.
  public var call: Call?
}

/// The newest change of a message.
public struct ChangedMessage: Equatable, Sendable {
  public var seq: Int64
  /// The number of the change in the room.
  public var change: Int64
  /// The time of the change.
  public var time: Timestamp
  /// The new body; `nil` when the message was deleted, or when the change concerns an annotation.
  public var body: [UInt8]?
  /// The changed annotation. Is `nil` for an edit and a deletion.
  public var annotation: Annotation?
  /// The user who deleted the message of another user. Is `nil` for other deletions and changes.
  public var moderator: UserID?

  public init(
    seq: Int64, change: Int64, time: Timestamp, body: [UInt8]?, annotation: Annotation? = nil,
    moderator: UserID? = nil
  ) {
    self.seq = seq
    self.change = change
    self.time = time
    self.body = body
    self.annotation = annotation
    self.moderator = moderator
  }
}

/// Consecutive messages of a room, in ascending order.
public struct MessagePage: Equatable, Sendable {
  public var epoch: String
  /// The room's newest message.
  public var newest: Int64
  /// The oldest message that is kept. Is `newest + 1` when none is kept.
  public var first: Int64
  public var messages: [StoredMessage]
  /// True if there are more messages in the direction of reading.
  public var more: Bool
  /// True if the bodies exceed the requested maximum. The page then has no messages.
  public var exceeds = false
}
