// SPDX-License-Identifier: Apache-2.0

/// Limits the log lines of a failure that repeats.
package struct LogPause {
  private let length: Duration
  private var last: ContinuousClock.Instant?

  package init(_ length: Duration = .seconds(10)) { self.length = length }

  /// Returns true if the failure must be logged now. After that it returns false for the length of the pause.
  package mutating func isOver(now: ContinuousClock.Instant = .now) -> Bool {
    if let last, now - last < length { return false }
    last = now
    return true
  }
}
