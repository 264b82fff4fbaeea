// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Notices that the wall clock was set after a token was made. The token then has a wrong time, and the service refuses
/// it.
enum TokenClock {
  /// A smaller difference between both clocks is inaccuracy.
  static let maxStep = Duration.seconds(60)

  /// True if the wall clock was set since a token was made.
  /// - Parameters:
  ///   - made: The time of the monotonic clock at which the token was made.
  ///   - issued: The time of the wall clock at that moment.
  static func wasSet(
    since made: ContinuousClock.Instant, issued: Timestamp, at now: ContinuousClock.Instant, wall: Timestamp
  ) -> Bool {
    let step = (wall - issued) - (now - made)
    return step > maxStep || step < .zero - maxStep
  }
}
