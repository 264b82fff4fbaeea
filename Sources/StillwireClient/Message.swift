// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// A message of a room, as the room's members see it.
public struct Message: Equatable, Sendable {
  public var room: RoomID
  /// The position in the room: 1, 2, 3 …
  public var seq: Int64
  /// The sender. Is `nil` if the message was deleted.
  public var from: UserID?
  public var time: Timestamp?
  public var body: JSON
  public var mentions: Mentions
  /// The seq of the message that this message answers.
  public var replyTo: Int64?
  /// The answered message when this client received the reply. Is `nil` if the relay no longer has that message.
  public var quote: Quote?
  /// The time of the last edit before this client received the message. Is `nil` if there was none.
  public var edited: Timestamp?
  /// The reactions when this client received the message, the oldest key first.
  public var reactions: [Reaction] = []
  /// The time at which the message was pinned. Is `nil` if it was not pinned when this client received it.
  public var pinned: Timestamp?
  /// True if the message was deleted. A deleted message keeps its seq and loses its body.
  public var isDeleted: Bool
  /// The user who deleted the message of another user. Is `nil` for other deletions.
  public var moderator: UserID?
  /// True if this user sent the message, from this session or another.
  public var isOwn = false
  /// True if messages before this one are missing: after a reset of the room, or because the reader was too slow.
  public var isAfterGap = false

  public init(
    room: RoomID, seq: Int64, from: UserID?, time: Timestamp?, body: JSON, mentions: Mentions = [],
    replyTo: Int64? = nil, edited: Timestamp? = nil, isDeleted: Bool = false
  ) {
    self.room = room
    self.seq = seq
    self.from = from
    self.time = time
    self.body = body
    self.mentions = mentions
    self.replyTo = replyTo
    self.edited = edited
    self.isDeleted = isDeleted
  }

  /// The text that a notification shows: the body if it is a string, otherwise the member `text` of the body.
  public var text: String? { body.text ?? body["text"]?.text }

  /// Parses a message. Returns `nil` if the value is not a message.
  init?(_ json: JSON, in room: RoomID) {
    guard let seq = json["seq"]?.integer, seq > 0 else { return nil }
    let isDeleted = json["deleted"]?.flag ?? false
    let from: UserID? = json.name("from")
    guard isDeleted || from != nil else { return nil }
    self.init(
      room: room, seq: seq, from: from, time: json.time("time"), body: json["body"] ?? .null,
      mentions: Mentions(json["mentions"]),
      replyTo: json["replyTo"]?.integer, edited: json.time("editedAt"), isDeleted: isDeleted)
    reactions = Reaction.list(json["reactions"])
    quote = Quote(json["quote"])
    pinned = json.time("pinnedAt")
    moderator = isDeleted ? json.name("by") : nil
  }
}

extension Quote {
  /// Parses the quote of a reply. Returns `nil` if the value is not a quote.
  init?(_ json: JSON?) {
    guard let json, let seq = json["seq"]?.integer, seq > 0, let from: UserID = json.name("from") else { return nil }
    let isDeleted = json["deleted"]?.flag ?? false
    self.init(seq: seq, from: from, preview: isDeleted ? nil : json["preview"]?.text, isDeleted: isDeleted)
  }

  /// Changes the quote after an edit or a deletion of the quoted message. Ignores all other frames. `Timeline` does
  /// this for its messages.
  public mutating func apply(_ frame: Frame) {
    guard frame.seq == seq else { return }
    switch frame.type {
    case "edited": edit(frame["body"] ?? .null)
    case "deleted": delete()
    default: break
    }
  }

  /// Shows an edit of the quoted message. A quote without a preview stays without one: the room may have no previews.
  public mutating func edit(_ body: JSON) {
    if preview != nil { preview = body.shownText.map(JSON.preview(ofText:)) }
  }

  /// Shows the deletion of the quoted message.
  public mutating func delete() {
    preview = nil
    isDeleted = true
  }
}

extension Mentions {
  /// Parses the names and the reserved words of a message.
  init(_ json: JSON?) {
    self.init([UserID]())
    for word in json?.items ?? [] { if let word = word.text { add(word) } }
  }
}
