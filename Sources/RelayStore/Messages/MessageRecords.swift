// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A message that has no seq yet.
public struct MessageDraft: Equatable, Sendable {
  public var room: RoomID
  public var from: User
  public var time: Timestamp
  /// Valid JSON.
  public var body: [UInt8]
  /// Members whom it names.
  public var mentions: [UserID]
  /// The seq of the message that it answers.
  public var replyTo: Int64?
  /// The push that the sender requests; nil: the default.
  public var push: PushRequest?
  /// false: nobody has it unread.
  public var isCounted: Bool
  /// The sender asked to hear how it goes.
  public var reports: Bool
  /// The users that the reply names as silenced: the sender may notify them anyway.
  public var silenced: [UserID]
  /// Makes a second attempt at the same message harmless, for ``keyLifetime``.
  public var key: String?
  /// The pushes that are known to be needed already.
  public var jobs: [JobDraft]
  /// Nobody has to be waited for: the room's cursor moves over this message, if it stands right before it.
  public var cursorFollows: Bool
  /// What the room keeps.
  public var retention: Retention
  /// The response whose text it is: stored with it, and if it was before, the message is a duplicate.
  public var response: ResponseDraft?

  public init(
    room: RoomID, from: User, time: Timestamp, body: [UInt8], mentions: [UserID] = [], replyTo: Int64? = nil,
    push: PushRequest? = nil, isCounted: Bool = true, reports: Bool = false, silenced: [UserID] = [],
    key: String? = nil,
    jobs: [JobDraft] = [], cursorFollows: Bool = false, retention: Retention = .everything,
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

  /// It has a body and nothing else.
  var isPlain: Bool {
    mentions.isEmpty && replyTo == nil && push == nil && isCounted && !reports && response == nil
  }

  /// For how long a key is remembered.
  public static let keyLifetime = Duration.seconds(300)
}

/// A message that was stored, now or, as a duplicate, before.
public struct Appended: Equatable, Sendable {
  public var seq: Int64
  public var time: Timestamp
  public var epoch: String
  /// The key was seen: `seq` and `time` are those of the first message, and nothing was written.
  public var isDuplicate: Bool
  /// The ids of the new jobs that are to be sent.
  public var jobs: [String]
  /// How the response was taken whose text it is.
  public var response: Responded?

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

/// A stored message without its body, for decisions.
public struct MessageHead: Equatable, Sendable {
  public var seq: Int64
  public var time: Timestamp
  public var traits: MessageTraits
  /// The sender wants `delivery` events.
  public var reports: Bool

  public init(seq: Int64, time: Timestamp, traits: MessageTraits, reports: Bool = false) {
    self.seq = seq
    self.time = time
    self.traits = traits
    self.reports = reports
  }
}

/// A message that was edited or deleted, or would have been.
public struct Edited: Equatable, Sendable {
  /// Who sent it.
  public var from: UserID
  /// When it was sent.
  public var time: Timestamp
  /// false: nothing was changed, because somebody else sent it or it had been deleted.
  public var isChanged: Bool
  /// The room's newest message at that moment.
  public var newest: Int64

  public init(from: UserID, time: Timestamp, isChanged: Bool, newest: Int64) {
    self.from = from
    self.time = time
    self.isChanged = isChanged
    self.newest = newest
  }
}

/// The newest change of a message.
public struct ChangedMessage: Equatable, Sendable {
  public var seq: Int64
  /// The time of the change.
  public var time: Timestamp
  /// The new body; `nil` when the message was deleted.
  public var body: [UInt8]?

  public init(seq: Int64, time: Timestamp, body: [UInt8]?) {
    self.seq = seq
    self.time = time
    self.body = body
  }
}

/// Some consecutive messages of a room, oldest first.
public struct MessagePage: Equatable, Sendable {
  public var epoch: String
  /// The room's newest message.
  public var newest: Int64
  /// The oldest message that is kept; `newest + 1` when none is.
  public var first: Int64
  public var messages: [StoredMessage]
  /// There are more in the direction of reading.
  public var more: Bool
  /// The bodies were over the bound that was asked for; there are no messages then.
  public var exceeds: Bool

  public init(
    epoch: String, newest: Int64, first: Int64, messages: [StoredMessage], more: Bool, exceeds: Bool = false
  ) {
    self.epoch = epoch
    self.newest = newest
    self.first = first
    self.messages = messages
    self.more = more
    self.exceeds = exceeds
  }
}
