// SPDX-License-Identifier: Apache-2.0

/// The clock for idempotency keys of a leader.
///
/// It begins at the time of the newest record that the leader has found in the log, and continues by the monotonic
/// clock. So a difference between the clocks of two nodes ends no key, and neither does a clock that somebody sets. The
/// time without a leader does not count.
public struct KeyClock: Hashable, Sendable {
  private let start: Duration
  private let began: ContinuousClock.Instant

  /// - Parameters:
  ///   - newest: The time of the newest record, see ``LogRecord/time``.
  ///   - now: The moment at which the node has found it.
  public init(after newest: Duration, at now: ContinuousClock.Instant) {
    start = newest
    began = now
  }

  /// The time since 1970.
  public func time(at now: ContinuousClock.Instant) -> Duration { start + max(.zero, now - began) }
}

extension Duration {
  /// The whole milliseconds. Is 0 for a negative duration.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(0, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
  }
}
