// SPDX-License-Identifier: Apache-2.0

/// Decides when a leader whose database fails gives its place to another node. Pure.
struct StoreFailure {
  enum Cause {
    /// The transactions have failed for ``patience``.
    case outage
    /// The database is damaged, so that a wait is useless.
    case damage
  }

  /// The time of failures after which the leader steps down.
  static let patience = Duration.seconds(5)

  private var since: ContinuousClock.Instant?
  private var isDamaged = false

  /// - Parameters:
  ///   - isAvailable: True if the last transaction has reached the disk.
  ///   - isDamaged: True after SQLite has found a damage.
  /// - Returns: The cause once, when the leader must step down.
  mutating func observe(isAvailable: Bool, isDamaged: Bool, at now: ContinuousClock.Instant) -> Cause? {
    guard !isDamaged else {
      defer { self.isDamaged = true }
      return self.isDamaged ? nil : .damage
    }
    guard !isAvailable else {
      since = nil
      return nil
    }
    guard let since else {
      self.since = now
      return nil
    }
    guard now - since >= Self.patience else { return nil }
    self.since = nil
    return .outage
  }
}
