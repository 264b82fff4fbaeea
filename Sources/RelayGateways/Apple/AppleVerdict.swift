// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// What is to be done after an attempt. From Apple's "Handling notification responses from APNs".
enum AppleVerdict: Equatable {
  case sent
  /// Later, not sooner than `after` from now.
  case retry(after: Duration?)
  /// At once, on another connection.
  case reconnect
  /// At once, with a new token.
  case renewToken
  /// At once, in the other environment.
  case switchEnvironment
  /// The device has no such token any more, if it registered before that time.
  case forget(before: Timestamp?)
  case dead
  /// Nothing goes well with this credential until somebody mends it.
  case pause
  /// This device is to be left alone for a while.
  case spareDevice(Duration)
  /// Tokens change too often.
  case keepToken(after: Duration?)
  /// Again with a shorter text.
  case shorten
}

/// What was done already for a push that is at its second attempt of a call, or later; each is done once.
enum AppleStep: Hashable { case reconnected, renewedToken, switchedEnvironment }

extension AppleVerdict {
  /// When the service does not say how long: it counts by the minute, as far as anybody knows.
  static let deviceRest = Duration.seconds(60)

  /// - Parameters:
  ///   - isEnvironmentKnown: The device said which is its; else ours is a guess.
  ///   - canRenewToken: The token that was sent is not the newest, or is old enough to be replaced.
  init(
    _ answer: AppleAnswer, after steps: Set<AppleStep> = [], isEnvironmentKnown: Bool = false,
    canRenewToken: Bool = true
  ) {
    let reason = answer.reason.flatMap(GatewayReason.init(rawValue:))
    switch (answer.status, reason) {
    case (200, _): self = .sent
    case (400, .badDeviceToken):
      // Tokens differ between the environments, and nothing in them tells which is theirs.
      self = isEnvironmentKnown || steps.contains(.switchedEnvironment) ? .forget(before: nil) : .switchEnvironment
    case (400, .badTopic), (400, .topicDisallowed): self = .pause
    case (400, .idleTimeout), (503, .shutdown):
      self = steps.contains(.reconnected) ? .retry(after: answer.retryAfter) : .reconnect
    case (403, .expiredProviderToken):
      self = canRenewToken && !steps.contains(.renewedToken) ? .renewToken : .pause
    case (403, .unrelatedKeyIDInToken): self = steps.contains(.reconnected) ? .pause : .reconnect
    case (403, _): self = .pause
    case (410, _): self = .forget(before: answer.timestamp)
    case (413, _): self = .shorten
    case (429, .tooManyProviderTokenUpdates): self = .keepToken(after: answer.retryAfter)
    case (429, _): self = .spareDevice(answer.retryAfter ?? Self.deviceRest)
    case (500..., _): self = .retry(after: answer.retryAfter)
    default: self = .dead
    }
  }
}
