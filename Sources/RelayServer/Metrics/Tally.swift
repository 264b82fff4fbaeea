// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol

/// What the relay counts of its own doing, beside what the hub and the store count.
struct Tally {
  enum Recovery: String, CaseIterable {
    case recovered
    case notRecovered = "not_recovered"
    /// A `join` without `after`.
    case notAsked = "not_asked"
  }

  enum Outcome: String, CaseIterable { case push, wait, hold, none }

  private(set) var errors: [ErrorCode: UInt64] = [:]
  private(set) var recoveries: [Recovery: UInt64] = [:]
  private(set) var decisions: [Outcome: UInt64] = [:]
  /// Focus reports by whether they were applied.
  private(set) var focusReports: [Bool: UInt64] = [:]
  /// From a message being accepted until its sender was told that it is stored.
  var acknowledgements = Histogram.seconds

  mutating func count(_ error: ErrorCode) { errors[error, default: 0] += 1 }
  mutating func count(_ recovery: Recovery) { recoveries[recovery, default: 0] += 1 }
  mutating func countFocusReport(applied: Bool) { focusReports[applied, default: 0] += 1 }

  mutating func count(_ outcome: Decision.Outcome) {
    let outcome: Outcome =
      switch outcome {
      case .push: .push
      case .wait: .wait
      case .hold: .hold
      case .none: .none
      }
    decisions[outcome, default: 0] += 1
  }
}
