// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A room's messages as clients were shown them, which all have to agree on.
struct RoomLog {
  struct Message: Equatable {
    let from: UserID
    let time: Timestamp
    /// Every message that is sent has another, and every edit.
    var body: Int
  }

  private(set) var epoch: String?
  private(set) var messages: [Int64: Message] = [:]
  private(set) var newest: Int64 = 0
  private(set) var deleted: Set<Int64> = []
  private var seqs: [Int: Int64] = [:]
  /// What of a message may be shown beside what it says, until all that was asked is answered and told.
  private var asked: [Int64: Set<Int>] = [:]
  private var askedDeleted: Set<Int64> = []

  subscript(seq: Int64) -> Message? { messages[seq] }

  /// Somebody was told that the message stands there.
  mutating func see(_ message: Message, at place: Place) throws {
    let seq = place.seq
    if let known = messages[seq] {
      let isSame = known.body == message.body || asked[seq]?.contains(message.body) == true
      guard isSame, known.from == message.from, known.time == message.time else {
        throw Violation(.ordered, "\(place) is \(message), and was \(known)")
      }
      guard !deleted.contains(seq) || askedDeleted.contains(seq) else {
        throw Violation(.ordered, "\(place) is shown as \(message), and was deleted")
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

  /// Somebody was told that it was deleted.
  func seeDeleted(_ place: Place) throws {
    guard isDeleted(place.seq) || askedDeleted.contains(place.seq) else {
      throw Violation(.ordered, "\(place) is shown as deleted, and was not")
    }
  }

  mutating func see(epoch: String, of room: RoomID) throws {
    if let known = self.epoch, known != epoch, newest > 0 {
      throw Violation(.ordered, "\(room) has a new epoch, and lost \(newest) messages")
    }
    self.epoch = epoch
  }

  func isDeleted(_ seq: Int64) -> Bool { deleted.contains(seq) }

  /// Whether it may be deleted at this moment.
  func isGoing(_ seq: Int64) -> Bool { askedDeleted.contains(seq) }

  /// What a push of it may say.
  func bodies(_ seq: Int64) -> Set<Int> { (asked[seq] ?? []).union(messages[seq].map { [$0.body] } ?? []) }

  // MARK: Edits

  mutating func askEdit(_ seq: Int64, _ body: Int) { asked[seq, default: []].insert(body) }

  mutating func askDelete(_ seq: Int64) { askedDeleted.insert(seq) }

  mutating func edit(_ seq: Int64, _ body: Int) {
    if let known = messages[seq] { asked[seq, default: []].insert(known.body) }
    messages[seq]?.body = body
  }

  mutating func delete(_ seq: Int64) { deleted.insert(seq) }

  /// Whatever was asked has happened or not.
  mutating func settle() {
    if !asked.isEmpty { asked = [:] }
    if !askedDeleted.isEmpty { askedDeleted = [] }
  }
}
