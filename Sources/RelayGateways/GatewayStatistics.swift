// SPDX-License-Identifier: Apache-2.0
// The counters of the gateways that use HTTP/1.1. Metrics read them.
public import RelayProtocol

/// The counters of a gateway that uses HTTP/1.1.
public struct GatewayStatistics: Sendable {
  /// Pushes that a service accepted.
  public var accepted: UInt64 = 0
  /// Pushes that were not accepted, by reason. Includes pushes that a pause delays.
  public var refused: [GatewayReason: UInt64] = [:]
  /// The seconds from the call to the answer; includes the wait for a connection.
  public var answers = Histogram.seconds

  mutating func count(_ outcome: PushOutcome) {
    if let reason = outcome.reason { refused[reason, default: 0] += 1 } else { accepted += 1 }
  }
}

/// An app whose Matrix gateway refuses its pushes, so that they wait.
public struct PausedMatrixApp: Sendable, Equatable {
  public var app: String
  public var reason: GatewayReason
}

/// The counters of the Matrix gateways of apps, and the paused apps.
public struct MatrixStatistics: Sendable {
  public var pushes = GatewayStatistics()
  public var paused: [PausedMatrixApp] = []
}
