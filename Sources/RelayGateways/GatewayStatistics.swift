// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What a gateway to services over HTTP did.
public struct GatewayStatistics: Sendable {
  /// Pushes that a service took.
  public var accepted: UInt64 = 0
  /// Attempts that ended otherwise.
  public var refused: [GatewayReason: UInt64] = [:]
  /// From a request's being made to its answer.
  public var answers = Histogram.seconds

  mutating func count(_ outcome: PushOutcome) {
    if let reason = outcome.reason { refused[reason, default: 0] += 1 } else { accepted += 1 }
  }
}

/// An app whose pushes wait, because its push gateway takes none of them.
public struct PausedGateway: Sendable, Equatable {
  public var app: String
  public var reason: GatewayReason
}

/// What the push gateways of apps did, and what waits.
public struct HTTPGatewayStatistics: Sendable {
  public var pushes = GatewayStatistics()
  public var paused: [PausedGateway] = []
}
