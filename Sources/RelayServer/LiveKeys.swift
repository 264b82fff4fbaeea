// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// The idempotency keys of rooms that keep nothing, for as long as the store remembers those of others.
///
/// A key ends with its room, whose handle is never given again. With more than ``most`` keys within that time, the
/// oldest are forgotten first.
struct LiveKeys {
  struct Key: Hashable {
    let room: RoomHandle
    let user: UserID
    let key: String
  }

  struct First {
    let seq: Int64
    let time: Timestamp
    fileprivate let expires: Timestamp
  }

  /// Some 20 MB with the longest keys.
  static let most = 65_536

  private var known: [Key: First] = [:]
  /// In the order in which they came; those before `head` are forgotten.
  private var order: [Key] = []
  private var head = 0

  var count: Int { known.count }

  /// The message that was sent with this key; nil: none, or too long ago.
  func first(_ key: Key, at now: Timestamp) -> First? {
    guard let first = known[key], first.expires > now else { return nil }
    return first
  }

  mutating func remember(_ key: Key, seq: Int64, time: Timestamp, at now: Timestamp) {
    forgetOld(at: now)
    if known.updateValue(First(seq: seq, time: time, expires: now + MessageDraft.keyLifetime), forKey: key) == nil {
      order.append(key)
    }
  }

  private mutating func forgetOld(at now: Timestamp) {
    // More than one for each that comes, so that it keeps up and no message waits long for it.
    for key in order[head...].prefix(4) {
      guard let first = known[key], first.expires <= now || known.count >= Self.most else { break }
      known[key] = nil
      head += 1
    }
    if head > 1_024, head > order.count / 2 {
      order.removeFirst(head)
      head = 0
    }
  }
}
