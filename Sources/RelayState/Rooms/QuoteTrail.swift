// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The newest replies of a room whose frames may be in the hub's memory, with the messages that they quote.
///
/// A frame has the quote of the time at which the reply was sent. When the quoted message changes, the relay forgets
/// the frames up to the newest reply that quotes it. A client that joins then gets these replies from the store.
struct QuoteTrail {
  /// The maximum number of replies. The hub keeps no more frames of a room.
  static let capacity = 64

  private var replies: [(seq: Int64, quoted: Int64, author: UserID)] = []
  /// The index of the oldest reply in a full trail.
  private var oldest = 0

  /// - Parameters:
  ///   - quoted: The seq of the quoted message.
  ///   - author: The sender of the quoted message.
  mutating func add(_ reply: Int64, quoting quoted: Int64, of author: UserID) {
    guard replies.count == Self.capacity else { return replies.append((reply, quoted, author)) }
    replies[oldest] = (reply, quoted, author)
    oldest = (oldest + 1) % Self.capacity
  }

  /// The newest reply that quotes one of these messages. Is 0 if there is none.
  func newestReply(quoting seqs: ClosedRange<Int64>) -> Int64 {
    replies.reduce(0) { seqs.contains($1.quoted) ? max($0, $1.seq) : $0 }
  }

  /// The newest reply that quotes a message of this user. Is 0 if there is none.
  func newestReply(quoting author: UserID) -> Int64 {
    replies.reduce(0) { $1.author == author ? max($0, $1.seq) : $0 }
  }
}
