// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The backoff for pushes that a gateway could not accept: a random delay below a bound that doubles.
public struct RetryPolicy: Equatable, Sendable {
  public var minDelay: Duration
  public var maxDelay: Duration

  public init(minDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(15 * 60)) {
    self.minDelay = minDelay
    self.maxDelay = maxDelay
  }

  /// The time of the next attempt. Is `nil` when it would not be before the expiry.
  ///
  /// - Parameters:
  ///   - attempts: The number of failed attempts, at least 1.
  ///   - retryAfter: The minimum delay that the gateway requested. It may exceed ``maxDelay``.
  public func next(
    after attempts: Int, retryAfter: Duration? = nil, now: Timestamp, expires: Timestamp,
    using generator: inout some RandomNumberGenerator
  ) -> Timestamp? {
    let jittered = Duration.milliseconds(
      Int64.random(in: minDelay.milliseconds...bound(after: attempts).milliseconds, using: &generator))
    let delay = max(jittered, retryAfter ?? .zero)
    // Durations are compared, because a gateway may request more milliseconds than a time can hold.
    return delay < expires - now ? now + delay : nil
  }

  /// The maximum delay after this number of failures. After the first failure it is twice the shortest delay.
  func bound(after attempts: Int) -> Duration {
    var bound = minDelay
    // 32 doublings exceed every bound. They leave a delay of zero as it is.
    for _ in 0..<min(max(1, attempts), 32) where bound < maxDelay { bound *= 2 }
    return max(minDelay, min(bound, maxDelay))
  }
}
