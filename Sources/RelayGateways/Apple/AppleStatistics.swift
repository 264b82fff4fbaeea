// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The counters of the gateway to Apple's service, and its connections and pauses.
public struct AppleStatistics: Sendable {
  public var connections = 0
  public var streams = 0
  /// The age of the oldest provider token in use, if there is one.
  public var tokenAge: Duration?
  public var paused: [PausedApp] = []
  /// Pushes that the service accepted.
  public var accepted: UInt64 = 0
  /// Pushes that were not accepted, by reason. Includes pushes that a pause delays.
  public var refused: [GatewayReason: UInt64] = [:]
  /// The seconds from sending to the answer.
  public var answers = Histogram.seconds
}

/// An app whose pushes Apple's service refuses in one environment, so that they wait.
public struct PausedApp: Sendable, Equatable {
  public var app: String
  public var environment: PushEnvironment
  public var reason: GatewayReason
}
