// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// Sends pushes to devices through a push service.
public protocol Gateway: Sendable {
  /// The delays before the relay sends a failed push again.
  var retryPolicy: RetryPolicy { get }

  /// Sends one push. Never throws: an error is an outcome. The caller decides about a retry.
  /// - Parameter log: Receives each attempt at which a service was contacted.
  func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome
}

extension Gateway {
  public var retryPolicy: RetryPolicy { RetryPolicy() }

  /// Sends one push without a log of attempts.
  public func send(_ push: PhonePush, to device: Device) async -> PushOutcome {
    await send(push, to: device, noting: AttemptLog())
  }
}

extension Push {
  /// The device's token for this push. A device can have a separate token for VoIP pushes.
  func token(of device: Device) -> String {
    headers.type == .voip ? device.voipToken ?? device.token : device.token
  }
}

extension PhonePush {
  /// The push as Apple's service takes it. Is `nil` if it is too large even without texts.
  var rendered: Push? { try? Push(self) }
}

/// The result of an attempt.
public enum PushOutcome: Equatable, Sendable {
  case sent(SentNote)
  /// Send the push again, not before `after`. `isUnknown`: it may have reached the device, so it must be sent again
  /// unchanged and with the same id.
  case retry(after: Duration?, GatewayReason, isUnknown: Bool = false)
  /// Nothing was sent. The gateway sends nothing of this lane for the given time. Does not count as an attempt.
  case paused(Duration, GatewayReason)
  /// The service refuses the payload as too large, although it is within the documented limit. `maxSize`: the bytes
  /// that the service accepts, or `nil` when unknown.
  case tooLarge(GatewayReason, maxSize: Int? = nil)
  /// The token is no longer valid. Remove it if the device still has it and, if a time is given, registered it before
  /// that time.
  case forgetDevice(GatewayReason, registeredBefore: Timestamp? = nil)
  /// The push can never succeed.
  case dead(GatewayReason)

  /// The reason of the failure. Is `nil` when the push was sent.
  public var reason: GatewayReason? {
    switch self {
    case .sent: nil
    case .retry(_, let reason, _), .paused(_, let reason), .tooLarge(let reason, _), .forgetDevice(let reason, _),
      .dead(let reason):
      reason
    }
  }
}

/// The effect of a push that a gateway accepted.
public enum SentNote: String, Sendable {
  case shown
  /// The push replaced the notification with the same collapse id.
  case replaced
  /// The service accepted the push, and does not report its effect.
  case accepted
}
