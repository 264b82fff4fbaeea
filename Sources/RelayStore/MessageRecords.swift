// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A message that has no seq yet.
public struct MessageDraft: Equatable, Sendable {
  public var room: RoomID
  public var from: User
  public var time: Timestamp
  /// Valid JSON.
  public var body: [UInt8]
  /// Makes a second attempt at the same message harmless, for ``keyLifetime``.
  public var key: String?
  /// The pushes that are known to be needed already.
  public var jobs: [JobDraft]
  /// Nobody has to be waited for: the room's cursor moves over this message, if it stands right before it.
  public var cursorFollows: Bool
  /// What the room keeps.
  public var retention: Retention

  public init(
    room: RoomID, from: User, time: Timestamp, body: [UInt8], key: String? = nil, jobs: [JobDraft] = [],
    cursorFollows: Bool = false, retention: Retention = .everything
  ) {
    self.room = room
    self.from = from
    self.time = time
    self.body = body
    self.key = key
    self.jobs = jobs
    self.cursorFollows = cursorFollows
    self.retention = retention
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

  public init(seq: Int64, time: Timestamp, epoch: String, isDuplicate: Bool = false, jobs: [String] = []) {
    self.seq = seq
    self.time = time
    self.epoch = epoch
    self.isDuplicate = isDuplicate
    self.jobs = jobs
  }
}

/// A message of which not every member's push is decided.
public struct UndecidedRecord: Equatable, Sendable {
  public let seq: Int64
  public let from: UserID
  public let time: Timestamp
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
