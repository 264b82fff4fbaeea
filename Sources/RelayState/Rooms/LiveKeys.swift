// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayStore

/// The idempotency keys of rooms that keep nothing. They expire after the same time as the stored keys of other rooms.
///
/// A key is useless after its room is gone, because no other room gets the same handle. When a user has ``maxPerUser``
/// keys, a new key replaces the oldest key of the same user. When all users together have ``max`` keys, a new key
/// replaces the oldest of all.
package struct LiveKeys {
  package struct Key: Hashable {
    package let room: RoomHandle
    package let user: UserID
    package let key: String

    package init(room: RoomHandle, user: UserID, key: String) {
      (self.room, self.user, self.key) = (room, user, key)
    }
  }

  package struct First {
    package let seq: Int64
    package let time: Timestamp
    fileprivate let expires: Timestamp
    /// The number of the key's entry in both queues.
    fileprivate let number: Int
  }

  /// The maximum number of keys. The longest keys then take about 20 MB.
  package static let max = 65_536
  static let maxPerUser = 2_048

  private struct Entry {
    let key: Key
    let number: Int
  }

  private var known: [Key: First] = [:]
  /// All entries, oldest first. Entries of forgotten keys are skipped.
  private var order = Line<Entry>()
  /// The entries of each user with a key, oldest first, and the number of keys.
  private var users: [UserID: (order: Line<Entry>, count: Int)] = [:]
  private var last = 0
  /// The sum of all steps of the wall clock. The keys expire by the wall clock minus this sum.
  private var steps = Duration.zero

  package var count: Int { known.count }
  /// The number of entries in the queue of all users, including those of forgotten keys.
  package var queued: Int { order.count }

  /// The message that was sent with this key. Is `nil` if there is none, or if the key has expired.
  package func first(_ key: Key, at now: Timestamp) -> First? {
    guard let first = known[key], first.expires > now - steps else { return nil }
    return first
  }

  package mutating func remember(_ key: Key, seq: Int64, time: Timestamp, at now: Timestamp) {
    let now = now - steps
    // Forgets up to four keys for each new one, so that the number shrinks and no message waits long. Entries of
    // forgotten keys do not count: each is removed once.
    var forgotten = 0
    while forgotten < 4, let oldest = order.first {
      if let first = first(of: oldest) {
        guard first.expires <= now || known.count >= Self.max else { break }
        forget(oldest.key)
        forgotten += 1
      }
      order.removeFirst()
    }
    if users[key.user]?.count == Self.maxPerUser { forgetOldest(of: key.user) }
    forget(key)
    last += 1
    known[key] = First(seq: seq, time: time, expires: now + MessageDraft.keyLifetime, number: last)
    let entry = Entry(key: key, number: last)
    order.append(entry)
    // The queue has at most two entries for each known key, and a constant number of others.
    if order.count > 2 * known.count + 1_024 {
      let current = Line(order.elements.filter { first(of: $0) != nil })
      order = current
    }
    users[key.user, default: (Line(), 0)].order.append(entry)
    users[key.user]?.count += 1
  }

  /// Keeps the remaining time of all keys when the wall clock is set. While the machine is suspended, the time passes.
  package mutating func clockWasSet(by step: Duration) { steps += step }

  /// The message of an entry. Is `nil` if the key was forgotten or used again.
  private func first(of entry: Entry) -> First? {
    guard let first = known[entry.key], first.number == entry.number else { return nil }
    return first
  }

  private mutating func forgetOldest(of user: UserID) {
    while let oldest = users[user]?.order.removeFirst() {
      if first(of: oldest) != nil { return forget(oldest.key) }
    }
  }

  private mutating func forget(_ key: Key) {
    guard known.removeValue(forKey: key) != nil, let left = users[key.user]?.count else { return }
    guard left > 1 else {
      users[key.user] = nil
      return
    }
    users[key.user]?.count = left - 1
    if let order = users[key.user]?.order, order.count > 2 * left + 16 {
      let current = Line(order.elements.filter { first(of: $0) != nil })
      users[key.user]?.order = current
    }
  }
}
