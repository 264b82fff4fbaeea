// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// How long to wait before coming back: full jitter under a ceiling that doubles from 0.5 s to 20 s, so that the crowd
/// of a restarted relay spreads out.
struct Backoff: Equatable {
  /// Failures in a row.
  private(set) var attempt = 0

  static let first = Duration.milliseconds(500)
  static let longest = Duration.seconds(20)
  /// A connection that ends sooner after its welcome is a failure like any other.
  static let proof = Duration.seconds(20)

  var ceiling: Duration { min(Self.longest, Self.first * (1 << min(attempt, 10))) }

  /// The wait after one more failure.
  /// - Parameters:
  ///   - random: 0 to 1.
  ///   - retryAfter: What the relay asks for: a floor.
  mutating func failed(random: Double, retryAfter: Duration = .zero) -> Duration {
    defer { attempt += 1 }
    return retryAfter + .rounded(seconds: ceiling.seconds * random)
  }

  mutating func succeeded() { attempt = 0 }
}
