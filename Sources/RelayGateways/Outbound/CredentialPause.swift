// SPDX-License-Identifier: Apache-2.0

/// What keeps pushes back that a service does not accept from us, whatever they are: after each pause one push is tried.
struct CredentialPause {
  /// Why nothing goes out; nil: it does.
  private(set) var reason: GatewayReason?
  private var until: ContinuousClock.Instant?
  private var length = Self.shortest

  static let shortest = Duration.seconds(30)
  static let longest = Duration.seconds(15 * 60)
  /// For how long others wait for the one that is tried.
  static let trial = Duration.seconds(30)
  /// By how much a push that was tried in vain stands behind those that waited for it, where it may be its own fault.
  static let stepBack = Duration.seconds(5)

  /// How long to wait; nil: send now. Who is told nil while there is a reason is the one that is tried.
  mutating func wait(at now: ContinuousClock.Instant) -> Duration? {
    guard let until else { return nil }
    if now < until { return until - now }
    self.until = now + Self.trial
    return nil
  }

  /// The service has refused one.
  /// - Returns: How long to wait, and whether this is news.
  mutating func refused(_ reason: GatewayReason, at now: ContinuousClock.Instant, isTrial: Bool)
    -> (wait: Duration, isNews: Bool)
  {
    let isNews = self.reason != reason
    // Of the many that were under way when the first was refused, each says the same.
    if let until, !isTrial, now < until { return (until - now, isNews) }
    self.reason = reason
    until = now + length
    defer { length = min(length * 2, Self.longest) }
    return (length, isNews)
  }

  /// The service has accepted who we are.
  /// - Returns: Whether this is news.
  mutating func accepted() -> Bool {
    defer { self = CredentialPause() }
    return reason != nil
  }
}
