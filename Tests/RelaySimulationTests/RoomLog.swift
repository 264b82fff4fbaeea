// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A room's messages as clients were shown them. All clients must agree.
struct RoomLog {
  struct Message: Equatable {
    let from: UserID
    let time: Timestamp
    /// Each message and each edit has its own body.
    var body: Int
  }

  private(set) var epoch: String?
  private(set) var messages: [Int64: Message] = [:]
  private(set) var newest: Int64 = 0
  private(set) var deleted: Set<Int64> = []
  private var seqs: [Int: Int64] = [:]
  /// Other bodies and deletions that may be shown as well, until all requests of a step have replies.
  private var requestedBodies: [Int64: Set<Int>] = [:]
  private var requestedDeletions: Set<Int64> = []

  subscript(seq: Int64) -> Message? { messages[seq] }

  func message(with body: Int) -> (seq: Int64, message: Message)? {
    guard let seq = seqs[body], let message = messages[seq] else { return nil }
    return (seq, message)
  }

  /// Checks a message that a client was shown.
  mutating func see(_ message: Message, at place: Place) throws {
    let seq = place.seq
    if let known = messages[seq] {
      let isSame = known.body == message.body || requestedBodies[seq]?.contains(message.body) == true
      guard isSame, known.from == message.from, known.time == message.time else {
        throw Violation(.ordered, "\(place) is \(message), but was \(known)")
      }
      guard !deleted.contains(seq) || requestedDeletions.contains(seq) else {
        throw Violation(.ordered, "\(place) is shown as \(message), but was deleted")
      }
      return
    }
    if let other = seqs[message.body], other != seq {
      throw Violation(.ordered, "\(message) is stored twice, as \(place) and \(other)")
    }
    messages[seq] = message
    seqs[message.body] = seq
    newest = max(newest, seq)
  }

  /// Checks a deletion that a client was shown.
  func seeDeleted(_ place: Place) throws {
    guard isDeleted(place.seq) || requestedDeletions.contains(place.seq) else {
      throw Violation(.ordered, "\(place) is shown as deleted, but was not")
    }
  }

  /// Checks a message that a reply quotes.
  /// - Parameter body: Is `nil` if the quote shows a deletion.
  func seeQuote(of place: Place, from: UserID, body: Int?) throws {
    guard let body else { return try seeDeleted(place) }
    // A client may see the reply before the message.
    guard let known = messages[place.seq] else { return }
    let isShown = !deleted.contains(place.seq) || requestedDeletions.contains(place.seq)
    guard isShown, from == known.from, bodies(place.seq).contains(body) else {
      throw Violation(.ordered, "\(place) is quoted as \(body) of \(from), but is \(known)")
    }
  }

  mutating func see(epoch: String, of room: RoomID) throws {
    if let known = self.epoch, known != epoch, newest > 0 {
      throw Violation(.ordered, "\(room) has a new epoch, and lost \(newest) messages")
    }
    self.epoch = epoch
  }

  func isDeleted(_ seq: Int64) -> Bool { deleted.contains(seq) }

  /// True if a deletion of the message was requested in the present step.
  func isGoing(_ seq: Int64) -> Bool { requestedDeletions.contains(seq) }

  /// The texts that a push of the message may have.
  func bodies(_ seq: Int64) -> Set<Int> { (requestedBodies[seq] ?? []).union(messages[seq].map { [$0.body] } ?? []) }

  // MARK: Edits

  mutating func requestEdit(_ seq: Int64, _ body: Int) { requestedBodies[seq, default: []].insert(body) }

  mutating func requestDelete(_ seq: Int64) { requestedDeletions.insert(seq) }

  mutating func edit(_ seq: Int64, _ body: Int) {
    if let known = messages[seq] { requestedBodies[seq, default: []].insert(known.body) }
    messages[seq]?.body = body
  }

  mutating func delete(_ seq: Int64) { deleted.insert(seq) }

  /// Ends a step: each request has succeeded or failed.
  mutating func settle() {
    if !requestedBodies.isEmpty { requestedBodies = [:] }
    if !requestedDeletions.isEmpty { requestedDeletions = [] }
  }
}
