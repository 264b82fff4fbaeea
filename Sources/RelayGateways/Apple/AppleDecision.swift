// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The decision after an attempt. Source: Apple's "Handling notification responses from APNs".
enum AppleDecision: Equatable {
  case sent
  /// Send the push again later, not before `after`.
  case retry(after: Duration?)
  /// Send the push again at once, on another connection.
  case reconnect
  /// Send the push again at once, with a new provider token.
  case renewToken
  /// Send the push again at once, in the other environment.
  case switchEnvironment
  /// The device token is no longer valid. Remove it if the device registered it before the time.
  case forget(before: Timestamp?)
  case dead
  /// The service refuses the app's credential. Pause its pushes until the operator corrects it.
  case pause
  /// Send nothing to this device for the given time.
  case spareDevice(Duration)
  /// Provider tokens change too often. Keep the current one, and send the push again later.
  case keepToken(after: Duration?)
  /// Send the push again with a shorter text.
  case shorten
}

/// The steps that one call has already tried for a push. It tries each step at most once.
enum AppleStep: Hashable { case reconnected, renewedToken, switchedEnvironment }

extension AppleDecision {
  /// The rest of a device when the answer has no `Retry-After`. Apple's limit seems to be per minute.
  static let deviceRest = Duration.seconds(60)

  /// - Parameters:
  ///   - isEnvironmentKnown: True if the device registered its environment. If not, the relay guessed it.
  ///   - canRenewToken: True if the sent token is not the newest, or is old enough to be replaced.
  init(
    _ answer: AppleAnswer, after steps: Set<AppleStep> = [], isEnvironmentKnown: Bool = false,
    canRenewToken: Bool = true
  ) {
    let reason = answer.reason.flatMap(GatewayReason.init(rawValue:))
    switch (answer.status, reason) {
    case (200, _): self = .sent
    case (400, .badDeviceToken):
      // A device token is valid in one environment only, and does not show in which.
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
