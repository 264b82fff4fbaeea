// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// When a push that a gateway could not take is tried again: after a random time below a bound that doubles.
public struct RetryPolicy: Equatable, Sendable {
  public var shortest: Duration
  public var longest: Duration

  public init(shortest: Duration = .seconds(1), longest: Duration = .seconds(15 * 60)) {
    self.shortest = shortest
    self.longest = longest
  }

  /// The time of the next attempt; nil when that would not be before the expiry.
  ///
  /// - Parameters:
  ///   - attempts: How many have failed, at least 1.
  ///   - retryAfter: What the gateway asked for. It is obeyed, also beyond ``longest``.
  public func next(
    after attempts: Int, retryAfter: Duration? = nil, now: Timestamp, expires: Timestamp,
    using generator: inout some RandomNumberGenerator
  ) -> Timestamp? {
    let jittered = Duration.milliseconds(
      Int64.random(in: shortest.milliseconds...bound(after: attempts).milliseconds, using: &generator))
    let delay = max(jittered, retryAfter ?? .zero)
    // Durations are compared, because a gateway may ask for more milliseconds than a time can hold.
    return delay < expires - now ? now + delay : nil
  }

  /// The longest delay after so many failures: twice the shortest after the first.
  func bound(after attempts: Int) -> Duration {
    var bound = shortest
    // 32 doublings are beyond every bound, also where the shortest delay is none.
    for _ in 0..<min(max(1, attempts), 32) where bound < longest { bound *= 2 }
    return max(shortest, min(bound, longest))
  }
}
