// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// Hands pushes to a service that reaches devices.
public protocol Gateway: Sendable {
  /// Sends one push once; who calls decides about another attempt. Never throws: what went wrong is an outcome.
  func send(_ push: Push, to device: Device) async -> PushOutcome
}

/// How an attempt ended.
public enum PushOutcome: Equatable, Sendable {
  case sent(SentNote)
  /// May go well another time. `after`: not sooner than that from now.
  case retry(after: Duration?, GatewayReason)
  /// The token is of no use any more: forget it, if it is still the device's.
  case forgetDevice(GatewayReason)
  /// Will never go well.
  case dead(GatewayReason)
}

/// What a gateway tells about a push that it took.
public enum SentNote: String, Sendable {
  case shown
  /// Took the place of the one with the same collapse id.
  case replaced
}

/// Why a gateway did not take a push, in Apple's words; safe as a metric label.
public enum GatewayReason: String, Sendable, CaseIterable {
  case badCollapseID = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageID = "BadMessageId"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case payloadTooLarge = "PayloadTooLarge"
  case serviceUnavailable = "ServiceUnavailable"
}
