// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// A room's messages as clients were shown them, which all have to agree on.
struct RoomLog {
  struct Message: Equatable {
    let from: UserID
    let time: Timestamp
    /// Every message that is sent has another.
    let body: Int
  }

  private(set) var epoch: String?
  private(set) var messages: [Int64: Message] = [:]
  private var seqs: [Int: Int64] = [:]
  private(set) var newest: Int64 = 0

  subscript(seq: Int64) -> Message? { messages[seq] }

  /// Somebody was told that the message stands there.
  mutating func see(_ message: Message, at place: Place) throws {
    let seq = place.seq
    if let known = messages[seq], known != message {
      throw Violation(.ordered, "\(place) is \(message), and was \(known)")
    }
    if let other = seqs[message.body], other != seq {
      throw Violation(.ordered, "\(message) is stored twice, as \(place) and \(other)")
    }
    messages[seq] = message
    seqs[message.body] = seq
    newest = max(newest, seq)
  }

  mutating func see(epoch: String, of room: RoomID) throws {
    if let known = self.epoch, known != epoch, newest > 0 {
      throw Violation(.ordered, "\(room) has a new epoch, and lost \(newest) messages")
    }
    self.epoch = epoch
  }
}
