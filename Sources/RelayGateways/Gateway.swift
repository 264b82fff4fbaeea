// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// Hands pushes to a service that reaches devices.
public protocol Gateway: Sendable {
  /// When what it could not take is tried again.
  var retryPolicy: RetryPolicy { get }

  /// Sends one push; who calls decides whether it is sent again later. Never throws: what went wrong is an outcome.
  /// - Parameter log: Is told of each attempt that a service was asked in, where there is more to tell than the outcome.
  func send(_ push: Push, to device: Device, noting log: AttemptLog) async -> PushOutcome
}

extension Gateway {
  public var retryPolicy: RetryPolicy { RetryPolicy() }

  /// The same, where only the outcome counts.
  public func send(_ push: Push, to device: Device) async -> PushOutcome {
    await send(push, to: device, noting: AttemptLog())
  }
}

extension Push {
  /// The token that it is for; a VoIP push has one of its own.
  func token(of device: Device) -> String {
    headers.type == .voip ? device.voipToken ?? device.token : device.token
  }
}

/// How an attempt ended.
public enum PushOutcome: Equatable, Sendable {
  case sent(SentNote)
  /// May go well another time. `after`: not sooner than that from now. `isUnknown`: it may have reached the device, so
  /// that it must go out again as it is, under the same id.
  case retry(after: Duration?, GatewayReason, isUnknown: Bool = false)
  /// Nothing was sent, and nothing of this lane will be for that time; not an attempt.
  case paused(Duration, GatewayReason)
  /// The payload is too large for the gateway, though not for its rules. `most`: bytes that would not be; nil: it did
  /// not say.
  case tooLarge(GatewayReason, most: Int? = nil)
  /// The token is of no use any more: forget it, if it is still the device's and, with a time, registered before it.
  case forgetDevice(GatewayReason, registeredBefore: Timestamp? = nil)
  /// Will never go well.
  case dead(GatewayReason)

  /// Why it was not sent; nil: it was.
  public var reason: GatewayReason? {
    switch self {
    case .sent: nil
    case .retry(_, let reason, _), .paused(_, let reason), .tooLarge(let reason, _), .forgetDevice(let reason, _),
      .dead(let reason):
      reason
    }
  }
}

/// What a gateway tells about a push that it took.
public enum SentNote: String, Sendable {
  case shown
  /// Took the place of the one with the same collapse id.
  case replaced
  /// What the service does with it, it does not say.
  case accepted
}
