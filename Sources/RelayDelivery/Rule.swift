// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// One row of the table. `Answer` is optional where a rule may have nothing to say.
struct Rule<Answer>: Sendable {
  let number: Int
  let name: String
  let ruling: @Sendable (Question) -> Answer

  init(_ number: Int, _ name: String, _ ruling: @escaping @Sendable (Question) -> Answer) {
    self.number = number
    self.name = name
    self.ruling = ruling
  }
}

/// What a rule says when it matches.
struct Ruling {
  let outcome: Decision.Outcome
  /// Never empty.
  let codes: [Reason.Code]

  static func end(_ code: Reason.Code) -> Ruling { Ruling(outcome: .none(code), codes: [code]) }
  static func wait(until time: Timestamp, _ code: Reason.Code) -> Ruling {
    Ruling(outcome: .wait(until: time), codes: [code])
  }
  static func hold(until time: Timestamp, _ codes: [Reason.Code]) -> Ruling {
    Ruling(outcome: .hold(until: time), codes: codes)
  }
  static func push(_ level: Level, _ codes: [Reason.Code]) -> Ruling {
    Ruling(outcome: .push(level), codes: codes)
  }
}
