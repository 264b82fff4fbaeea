// SPDX-License-Identifier: Apache-2.0

/// Decides when changes are handled: at most once in an interval for each key. Counts the keys that are being handled.
///
/// A key with a change waits until its interval since the last begin is over. Changes while a key is being handled are
/// handled afterwards, all together. So the last state is always handled.
package struct ChangeThrottle<Key: Hashable & Sendable>: Sendable {
  package typealias Instant = ContinuousClock.Instant

  private enum State {
    /// The key has a change.
    case waiting(due: Instant)
    /// The key is being handled. `isChanged` is true after a further change.
    case running(since: Instant, isChanged: Bool)
    /// The key was handled, and has no change since then.
    case resting(since: Instant)
  }

  private var states: [Key: State] = [:]
  /// The keys that wait from `head` on, by the time at which they are due. May contain keys that were forgotten.
  private var queue: [(key: Key, due: Instant)] = []
  private var head = 0
  private static var maxHead: Int { 256 }
  /// The number of keys that are being handled.
  package private(set) var running = 0

  package init() {}

  /// The number of keys in memory.
  package var count: Int { states.count }

  /// Records a change. It is due at once, or when `interval` since the last begin is over.
  package mutating func change(_ key: Key, at now: Instant, interval: Duration) {
    switch states[key] {
    case .waiting: return
    case .running(let since, _): states[key] = .running(since: since, isChanged: true)
    case .resting(let since): wait(key, until: max(now, since + interval))
    case nil: wait(key, until: now)
    }
  }

  private mutating func wait(_ key: Key, until due: Instant) {
    states[key] = .waiting(due: due)
    // Most intervals are equal, so the place is almost always the end.
    let index = queue[head...].lastIndex { $0.due <= due }.map { $0 + 1 } ?? head
    queue.insert((key, due), at: index)
  }

  /// The earliest time at which ``next(at:)`` may have a key. Is `nil` when no key waits.
  package var due: Instant? { head < queue.count ? queue[head].due : nil }

  /// Begins with the next key that is due. The caller calls ``end(_:at:interval:)`` for it.
  package mutating func next(at now: Instant) -> Key? {
    while head < queue.count, queue[head].due <= now {
      let (key, due) = queue[head]
      head += 1
      if head > Self.maxHead, 2 * head > queue.count {
        queue.removeFirst(head)
        head = 0
      }
      guard case .waiting(due) = states[key] else { continue }
      states[key] = .running(since: now, isChanged: false)
      running += 1
      return key
    }
    return nil
  }

  /// Ends the handling of a key.
  package mutating func end(_ key: Key, at now: Instant, interval: Duration) {
    guard case .running(let since, let isChanged) = states[key] else { return }
    running -= 1
    if isChanged {
      wait(key, until: max(now, since + interval))
    } else {
      states[key] = .resting(since: since)
    }
  }

  /// Forgets a key, and its changes.
  package mutating func forget(_ key: Key) {
    if case .running = states.removeValue(forKey: key) { running -= 1 }
  }

  /// Forgets the keys that were handled before `time` and have no change. Their next change is due at once.
  mutating func forgetResting(before time: Instant) {
    states = states.filter { if case .resting(let since) = $0.value { since >= time } else { true } }
  }
}
