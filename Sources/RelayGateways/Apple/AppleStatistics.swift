// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What the gateway to Apple's service is doing, and did.
public struct AppleStatistics: Sendable {
  public var connections = 0
  public var streams = 0
  /// Of the oldest token in use; nil: none is.
  public var tokenAge: Duration?
  public var paused: [PausedApp] = []
  /// Pushes that the service took.
  public var accepted: UInt64 = 0
  /// Attempts that ended otherwise.
  public var refused: [GatewayReason: UInt64] = [:]
  /// From a request's leaving to its answer.
  public var answers = Histogram.seconds
}

/// An app whose pushes wait, because Apple's service does not accept them from it.
public struct PausedApp: Sendable, Equatable {
  public var app: String
  public var environment: PushEnvironment
  public var reason: GatewayReason
}
