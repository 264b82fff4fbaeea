// SPDX-License-Identifier: Apache-2.0
// The messages of a screen, from a page of the history and the events of the client. Has no dependency on SwiftUI.
import RelayJSON
public import StillwireClient

/// The messages of a room in their order, as a screen shows them. Each message is there once.
public struct Timeline: Equatable, Sendable {
  /// The messages, the oldest first.
  public private(set) var messages: [Message] = []
  /// True if the room has older messages than the first one.
  public private(set) var hasEarlier = false
  /// Maximum number of messages. Beyond it the timeline loses the oldest ones.
  public let limit: Int

  /// - Parameter limit: Maximum number of messages, at least 1.
  public init(limit: Int = 500) {
    precondition(limit > 0, "a timeline shows at least one message")
    self.limit = limit
  }

  /// Adds a new message, or replaces the one with its seq. A message that is older than a full timeline is not added.
  public mutating func add(_ message: Message) {
    insert(message)
    trimOldest()
  }

  /// Adds a page of the history, which ends before the first message or overlaps the timeline. The page contains the
  /// current state of its messages, so it replaces those with the same seq.
  ///
  /// A full timeline adds nothing at its beginning: the reader is at the end of it.
  /// - Parameter hasMore: True if the room has messages before the page.
  public mutating func add(page: [Message], hasMore: Bool) {
    let isOlder = messages.first.map { first in page.first.map { $0.seq < first.seq } ?? true } ?? true
    for message in page { insert(message) }
    // A full timeline may have refused the oldest messages of the page.
    if isOlder { hasEarlier = hasMore || page.contains { $0.seq < messages[0].seq } }
    trimOldest()
  }

  /// Changes a message after an edit, a deletion, a reaction, a pin or its end. Ignores all other frames.
  public mutating func apply(_ frame: Frame) {
    guard let seq = frame.seq else { return }
    switch frame.type {
    case "edited": edit(seq, body: frame["body"] ?? .null)
    case "deleted": delete(seq, by: frame["by"]?.text.flatMap(UserID.init(rawValue:)))
    case "reactions": setReactions(of: seq, to: Reaction.list(frame["reactions"]))
    case "pinned":
      let time = frame["pinned"]?.flag == true ? frame["time"]?.integer : nil
      change(seq) { $0.pinned = time.map(Timestamp.init(rawValue:)) }
    default: break
    }
  }

  /// Replaces the body of a message, if it is in the timeline, and changes the quotes of the message.
  mutating func edit(_ seq: Int64, body: JSON) {
    change(seq) { $0.body = body }
    changeQuotes(of: seq) { $0.edit(body) }
  }

  /// Removes the contents of a message, if it is in the timeline, and those of its quotes.
  /// - Parameter moderator: Is `nil` if the sender has deleted the message.
  mutating func delete(_ seq: Int64, by moderator: UserID? = nil) {
    change(seq) {
      $0.body = .null
      $0.from = nil
      $0.quote = nil
      $0.reactions = []
      $0.pinned = nil
      $0.isDeleted = true
      $0.moderator = moderator
    }
    changeQuotes(of: seq) { $0.delete() }
  }

  /// Replaces the reactions to a message, if it is in the timeline.
  mutating func setReactions(of seq: Int64, to reactions: [Reaction]) { change(seq) { $0.reactions = reactions } }

  private mutating func change(_ seq: Int64, _ change: (inout Message) -> Void) {
    guard let index = messages.firstIndex(where: { $0.seq == seq }) else { return }
    change(&messages[index])
  }

  private mutating func changeQuotes(of seq: Int64, _ change: (inout Quote) -> Void) {
    for index in messages.indices where messages[index].quote?.seq == seq {
      if var quote = messages[index].quote {
        change(&quote)
        messages[index].quote = quote
      }
    }
  }

  private mutating func insert(_ message: Message) {
    // A new message is almost always the newest one.
    let index = messages.lastIndex { $0.seq <= message.seq }
    guard let index else {
      if messages.count < limit { messages.insert(message, at: 0) } else { hasEarlier = true }
      return
    }
    if messages[index].seq == message.seq {
      messages[index] = message
    } else {
      messages.insert(message, at: index + 1)
    }
  }

  private mutating func trimOldest() {
    guard messages.count > limit else { return }
    messages.removeFirst(messages.count - limit)
    hasEarlier = true
  }
}
