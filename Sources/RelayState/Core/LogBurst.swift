// SPDX-License-Identifier: Apache-2.0

/// Limits the log lines that clients cause: at most ``max`` in each ``window``. The first line of the next window has
/// the number of the lines that were left out.
struct LogBurst {
  static let max = 5
  static let window = Duration.seconds(10)

  private var start: ContinuousClock.Instant?
  private var count = 0

  /// Returns the number of lines that were left out before this line. Returns `nil` if this line is left out, too.
  mutating func take(now: ContinuousClock.Instant = .now) -> Int? {
    var leftOut = 0
    if start.map({ now - $0 >= Self.window }) ?? true {
      leftOut = Swift.max(count - Self.max, 0)
      start = now
      count = 0
    }
    count += 1
    return count <= Self.max ? leftOut : nil
  }
}
