// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// A message of a room, as the room's members see it.
public struct Message: Equatable, Sendable {
  public var room: RoomID
  /// 1, 2, 3 … in the order of the room.
  public var seq: Int64
  /// nil: it was deleted.
  public var from: UserID?
  public var time: Timestamp?
  public var body: JSON
  public var mentions: [UserID]
  /// The seq of the message that it answers.
  public var replyTo: Int64?
  /// Its place is kept without what it said.
  public var isDeleted: Bool
  /// It is this user's, from here or another of their sessions.
  public var isOwn = false
  /// What came before it is not all here: a fresh start of the room, or more than was taken.
  public var isAfterGap = false

  public init(
    room: RoomID, seq: Int64, from: UserID?, time: Timestamp?, body: JSON, mentions: [UserID] = [],
    replyTo: Int64? = nil, isDeleted: Bool = false
  ) {
    self.room = room
    self.seq = seq
    self.from = from
    self.time = time
    self.body = body
    self.mentions = mentions
    self.replyTo = replyTo
    self.isDeleted = isDeleted
  }

  /// The body where that is a text, else its `text`: what a notification shows of it.
  public var text: String? { body.text ?? body["text"]?.text }

  /// nil: it is none.
  init?(_ json: JSON, in room: RoomID) {
    guard let seq = json["seq"]?.integer, seq > 0 else { return nil }
    let isDeleted = json["deleted"]?.flag ?? false
    let from: UserID? = json.name("from")
    guard isDeleted || from != nil else { return nil }
    self.init(
      room: room, seq: seq, from: from, time: json.time("time"), body: json["body"] ?? .null,
      mentions: json["mentions"]?.items?.compactMap { $0.text.flatMap(UserID.init(rawValue:)) } ?? [],
      replyTo: json["replyTo"]?.integer, isDeleted: isDeleted)
  }
}
