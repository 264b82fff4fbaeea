// SPDX-License-Identifier: Apache-2.0

/// The newest message of a room that a client has. `seq` 0 is the position before the first message.
public struct Position: Equatable, Sendable {
  /// An opaque text of at most 32 bytes. A different epoch means that the relay has lost or replaced part of the room's
  /// history.
  public var epoch: String
  public var seq: Int64

  public init(epoch: String, seq: Int64) {
    self.epoch = epoch
    self.seq = seq
  }

  public static let maxEpochLength = 32
}

/// The message that a reply answers, as the reply shows it. The store keeps no copy of it: each reader computes it from
/// the message.
public struct Quote: Hashable, Sendable {
  public var seq: Int64
  /// The sender of the quoted message.
  public var from: UserID
  /// The beginning of the text. Is `nil` for a body without a text, after a deletion, and in a room without previews.
  public var preview: String?
  public var isDeleted: Bool

  public init(seq: Int64, from: UserID, preview: String? = nil, isDeleted: Bool = false) {
    self.seq = seq
    self.from = from
    self.preview = preview
    self.isDeleted = isDeleted
  }
}

/// A message of a room that keeps history.
public struct StoredMessage: Equatable, Sendable {
  public var seq: Int64
  public var from: UserID
  public var time: Timestamp
  /// Valid JSON, byte for byte as the sender wrote it. It is empty if the message was deleted.
  public var body: [UInt8]
  public var mentions: Mentions
  /// The seq of the message that this message answers.
  public var replyTo: Int64?
  /// The message that this message answers. Only a page of the history has it. Is `nil` if the history does not have
  /// that message.
  public var quote: Quote?
  public var isDeleted: Bool
  /// The time of the last edit. Is `nil` if the message was never edited, or was deleted.
  public var edited: Timestamp?
  /// The reactions: a JSON array with the count and the first users of each key. Is `nil` without reactions.
  public var reactions: [UInt8]?
  /// The time at which the message was pinned. Is `nil` if it is not pinned.
  public var pinned: Timestamp?
  /// The user who deleted the message of another user. Is `nil` for other deletions.
  public var moderator: UserID?

  public init(
    seq: Int64, from: UserID, time: Timestamp, body: [UInt8], mentions: Mentions = [], replyTo: Int64? = nil,
    isDeleted: Bool = false, edited: Timestamp? = nil, reactions: [UInt8]? = nil,
    pinned: Timestamp? = nil, moderator: UserID? = nil
  ) {
    self.seq = seq
    self.from = from
    self.time = time
    self.body = body
    self.mentions = mentions
    self.replyTo = replyTo
    self.isDeleted = isDeleted
    self.edited = edited
    self.reactions = reactions
    self.pinned = pinned
    self.moderator = moderator
  }
}
