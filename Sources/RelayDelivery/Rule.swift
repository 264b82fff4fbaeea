// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// One row of the table of rules. `Answer` is optional for a rule that may not match.
struct Rule<Answer>: Sendable {
  let number: Int
  let name: String
  let evaluate: @Sendable (DecisionInput) -> Answer

  init(_ number: Int, _ name: String, _ evaluate: @escaping @Sendable (DecisionInput) -> Answer) {
    self.number = number
    self.name = name
    self.evaluate = evaluate
  }
}

/// The result of a rule that matches.
struct RuleResult {
  let outcome: Decision.Outcome
  /// Never empty.
  let codes: [Reason.Code]

  static func end(_ code: Reason.Code) -> RuleResult { RuleResult(outcome: .none(code), codes: [code]) }
  static func wait(until time: Timestamp, _ code: Reason.Code) -> RuleResult {
    RuleResult(outcome: .wait(until: time), codes: [code])
  }
  static func hold(until time: Timestamp, _ codes: [Reason.Code]) -> RuleResult {
    RuleResult(outcome: .hold(until: time), codes: codes)
  }
  static func push(_ level: Level, _ codes: [Reason.Code]) -> RuleResult {
    RuleResult(outcome: .push(level), codes: codes)
  }
}
