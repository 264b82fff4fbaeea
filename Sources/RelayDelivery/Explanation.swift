// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A decision and the facts that it was made from. The store keeps it with a push job.
public struct Explanation: Equatable, Sendable, Codable {
  public var decision: Decision
  /// The facts at the time of the decision.
  public var facts: DeliveryCase

  public init(decision: Decision, facts: DeliveryCase) {
    self.decision = decision
    self.facts = facts
  }
}

extension Decision {
  /// The time at which a hold ends at the latest. Is `nil` when the push is not held.
  public var holdEnd: Timestamp? {
    guard case .hold(let until) = outcome else { return nil }
    return until
  }
}
