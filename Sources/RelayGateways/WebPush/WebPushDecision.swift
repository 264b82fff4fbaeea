// SPDX-License-Identifier: Apache-2.0

/// The decision after a push service's answer (RFC 8030, sections 5, 7.3 and 8.4; RFC 8292, section 4.2).
enum WebPushDecision: Equatable {
  case sent
  /// Send the push again, not before `after`. `isUnknown`: the service may have accepted it.
  case retry(after: Duration?, GatewayReason, isUnknown: Bool = false)
  /// The subscription has ended: remove it.
  case forget
  /// The service refuses the relay's key, or the subscription was made with another key.
  case refused(GatewayReason)
  /// Send the push again with a shorter text.
  case shorten
  case dead(GatewayReason)

  init(_ answer: HTTPAnswer) {
    if let reason = answer.temporaryReason {
      self = .retry(after: answer.retryAfter, reason, isUnknown: !answer.isPlainRefusal)
      return
    }
    switch answer.status {
    case 200..<300: self = .sent
    case 300..<400: self = .dead(.redirected)
    case 401: self = .refused(.invalidProviderToken)
    case 403: self = .refused(.forbidden)
    case 404, 410: self = .forget
    case 413: self = .shorten
    default: self = .dead(.other)
    }
  }
}
