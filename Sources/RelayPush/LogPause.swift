// SPDX-License-Identifier: Apache-2.0

/// Limits the log lines of a failure that repeats.
package struct LogPause {
  static let length = Duration.seconds(10)

  private var last: ContinuousClock.Instant?

  package init() {}

  /// Returns true if the failure must be logged now. After that it returns false for ``length``.
  package mutating func isOver(now: ContinuousClock.Instant = .now) -> Bool {
    if let last, now - last < Self.length { return false }
    last = now
    return true
  }
}
