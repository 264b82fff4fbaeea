// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// One row of the table of rules. `Answer` is optional for a rule that may not match.
///
/// The number of a rule is its position in ``rules``, and it changes when a rule is added. The codes of a rule never
/// change: clients, logs and documents refer to them.
struct Rule<Answer>: Sendable {
  let name: String
  let evaluate: @Sendable (DecisionInput) -> Answer

  init(_ name: String, _ evaluate: @escaping @Sendable (DecisionInput) -> Answer) {
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
