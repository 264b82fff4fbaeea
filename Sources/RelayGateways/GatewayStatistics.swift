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
    switch outcome {
    case .sent: accepted += 1
    case .retry(_, let reason, _), .paused(_, let reason), .tooLarge(let reason), .forgetDevice(let reason, _),
      .dead(let reason):
      refused[reason, default: 0] += 1
    }
  }
}
