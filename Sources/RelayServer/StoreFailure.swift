// SPDX-License-Identifier: Apache-2.0

/// Decides when a leader whose database fails gives its place to another node. Pure.
struct StoreFailure {
  /// The time of failures after which the leader steps down.
  static let patience = Duration.seconds(5)

  private var since: ContinuousClock.Instant?

  /// - Parameter isAvailable: True if the last transaction has reached the disk.
  /// - Returns: True once, when the transactions have failed for ``patience``.
  mutating func isTooLong(isAvailable: Bool, at now: ContinuousClock.Instant) -> Bool {
    guard !isAvailable else {
      since = nil
      return false
    }
    guard let since else {
      self.since = now
      return false
    }
    guard now - since >= Self.patience else { return false }
    self.since = nil
    return true
  }
}
