// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The backoff between attempts: full jitter below a ceiling that doubles from 0.5 s to 20 s. The jitter spreads the
/// clients that reconnect after a restart of the relay.
struct Backoff: Equatable {
  /// Failures in a row.
  private(set) var attempt = 0

  static let first = Duration.milliseconds(500)
  static let maxDelay = Duration.seconds(20)
  /// A connection that ends sooner than this after its welcome counts as a failure.
  static let proof = Duration.seconds(20)

  var ceiling: Duration { min(Self.maxDelay, Self.first * (1 << min(attempt, 10))) }

  /// Counts one more failure, and returns the delay before the next attempt.
  /// - Parameters:
  ///   - random: 0 to 1.
  ///   - retryAfter: The minimum delay that the relay requests. The jitter is added to it.
  ///   - jitter: The minimum ceiling of the jitter: the time within which all clients of the relay should reconnect.
  mutating func failed(random: Double, retryAfter: Duration = .zero, jitter: Duration = .zero) -> Duration {
    defer { attempt += 1 }
    return retryAfter + .rounded(seconds: max(ceiling, jitter).seconds * random)
  }

  /// Counts no failure, because the relay has ended the session in order: another relay or node accepts the client soon.
  ///
  /// Returns the delay before the next attempt: a time within the jitter of the relay. Is `nil` if the relay states none.
  /// - Parameters:
  ///   - random: 0 to 1.
  ///   - retryAfter: The delay that the relay has chosen for this client within its jitter.
  ///   - jitter: The time within which all clients of the relay should reconnect.
  mutating func handedOver(random: Double, retryAfter: Duration?, jitter: Duration) -> Duration? {
    succeeded()
    return retryAfter ?? (jitter > .zero ? .rounded(seconds: jitter.seconds * random) : nil)
  }

  mutating func succeeded() { attempt = 0 }
}

/// The retry of a request that the relay has refused temporarily.
struct Retry: Equatable {
  /// The time of the retry. Is `nil` when none is scheduled.
  private(set) var at: Duration?
  private var backoff = Backoff()

  /// Schedules a retry after one more refusal.
  mutating func schedule(at now: Duration, retryAfter: Duration, random: Double) {
    at = now + backoff.failed(random: random, retryAfter: retryAfter)
  }

  /// Returns true if the retry is due, and ends its schedule.
  mutating func timePassed(at now: Duration) -> Bool {
    guard let at, at <= now else { return false }
    cancel()
    return true
  }

  /// Ends the schedule. The next delay continues to grow.
  mutating func cancel() { at = nil }

  /// Ends the schedule. The next delay is the first one again.
  mutating func succeeded() { self = Retry() }
}
