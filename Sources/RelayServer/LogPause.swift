// SPDX-License-Identifier: Apache-2.0

/// A failure that comes again and again is logged now and then, not each time.
struct LogPause {
  static let length = Duration.seconds(10)

  private var last: ContinuousClock.Instant?

  /// Whether to log now; if so, not again for ``length``.
  mutating func isOver(now: ContinuousClock.Instant = .now) -> Bool {
    if let last, now - last < Self.length { return false }
    last = now
    return true
  }
}
