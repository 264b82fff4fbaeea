// SPDX-License-Identifier: Apache-2.0

/// Pauses all pushes to a service that refuses the relay's credential. After each pause, one push is sent as a trial.
/// The pause ends if the service accepts it, and doubles if not.
struct CredentialPause {
  /// The reason of the pause. Is `nil` when pushes are not paused.
  private(set) var reason: GatewayReason?
  private var until: ContinuousClock.Instant?
  private var length = Self.minLength

  static let minLength = Duration.seconds(30)
  static let maxLength = Duration.seconds(15 * 60)
  /// The time for which other pushes wait for the result of the trial.
  static let trial = Duration.seconds(30)
  /// The extra delay of a refused trial, so that another push is the next trial. The fault may be in that one push.
  static let stepBack = Duration.seconds(5)

  /// Returns the time to wait, or `nil` to send now. If it returns `nil` during a pause, the caller's push is the
  /// trial.
  mutating func wait(at now: ContinuousClock.Instant) -> Duration? {
    guard let until else { return nil }
    if now < until { return until - now }
    self.until = now + Self.trial
    return nil
  }

  /// Records that the service refused a push.
  /// - Returns: The time to wait. `isNew` is true if the pause has just begun, or its reason changed.
  mutating func refused(_ reason: GatewayReason, at now: ContinuousClock.Instant, isTrial: Bool)
    -> (wait: Duration, isNew: Bool)
  {
    let isNew = self.reason != reason
    // Other pushes were sent before the first refusal. Their refusals do not lengthen the pause.
    if let until, !isTrial, now < until { return (until - now, isNew) }
    self.reason = reason
    until = now + length
    defer { length = min(length * 2, Self.maxLength) }
    return (length, isNew)
  }

  /// Records that the service accepted the credential.
  /// - Returns: True if this ends a pause.
  mutating func accepted() -> Bool {
    defer { self = CredentialPause() }
    return reason != nil
  }
}
