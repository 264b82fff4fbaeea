// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// A rule, what makes it speak, and what it then says.
struct Speaker: CustomTestStringConvertible, Sendable {
  let rule: Int
  let outcome: Decision.Outcome
  let provoke: @Sendable (inout DeliveryCase) -> Void

  var testDescription: String { "rule \(rule)" }

  static let all = [
    Speaker(rule: 1, outcome: .none(.ownMessage)) { $0.message.sender = $0.recipient.user },
    Speaker(rule: 2, outcome: .none(.noPushAsked)) { $0.message.isPushAsked = false },
    Speaker(rule: 4, outcome: .none(.read)) { $0.recipient.hasRead = true },
    Speaker(rule: 5, outcome: .none(.deleted)) { $0.message.isDeleted = true },
    Speaker(rule: 7, outcome: .wait(until: .at(5_000))) {
      $0.recipient.sessions.append(.unreceived(.active, .written(at: .at(0))))
    },
    Speaker(rule: 8, outcome: .wait(until: .at(30_000))) { $0.recipient.sessions.append(.received(.idle)) },
    Speaker(rule: 9, outcome: .wait(until: .at(9_000))) {
      $0.recipient.away = AwayFacts(since: .at(-1_000), isClean: false)
    },
    Speaker(rule: 10, outcome: .none(.noDevice)) { $0.device = nil },
  ]
}

@Suite struct RuleOrderTests {
  private static let pairs = Speaker.all.indices.flatMap { first in
    Speaker.all[(first + 1)...].map { (Speaker.all[first], $0) }
  }

  @Test(arguments: Speaker.all)
  func `a rule that speaks alone decides`(speaker: Speaker) {
    let decision = decide(.plain.with(speaker.provoke))
    #expect(decision.outcome == speaker.outcome)
    #expect(decision.reasons.map(\.rule) == [speaker.rule])
  }

  @Test(arguments: pairs)
  func `of two rules the earlier decides and both are told`(first: Speaker, second: Speaker) {
    let facts = DeliveryCase.plain.with {
      second.provoke(&$0)
      first.provoke(&$0)
    }
    let decision = decide(facts)
    #expect(decision.outcome == first.outcome)
    // Who has a session is not away: of rules 7 and 9, and of 8 and 9, only one can ever speak.
    let isEither = [7, 8].contains(first.rule) && second.rule == 9
    #expect(decision.reasons.map(\.rule) == (isEither ? [first.rule] : [first.rule, second.rule]))
  }

  @Test func `all that can speak at once are told in order`() {
    let facts = DeliveryCase.plain.with { facts in
      for speaker in Speaker.all { speaker.provoke(&facts) }
    }
    #expect(decide(facts).reasons.map(\.rule) == [1, 2, 4, 5, 7, 8, 10])
  }
}
