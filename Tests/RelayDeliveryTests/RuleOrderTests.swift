// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// A rule with a change that makes it match, and the outcome when no other rule matches.
struct RuleExample: CustomTestStringConvertible, Sendable {
  let rule: Int
  let code: Reason.Code
  let outcome: Decision.Outcome
  /// The cases to which the rule does not apply.
  let exceptions: Set<Exception>
  let apply: @Sendable (inout DeliveryCase) -> Void

  var testDescription: String { "rule \(rule), \(code.rawValue)" }

  enum Exception: CaseIterable {
    case call, ringingCall, notifyAnyway, timeSensitive

    func make(_ facts: inout DeliveryCase) {
      switch self {
      case .call: facts.message.kind = .call
      case .ringingCall:
        facts.message.kind = .call
        facts.device?.hasVoIPToken = true
      case .notifyAnyway: facts.message.isNotifyAnyway = true
      case .timeSensitive: facts.message.level = .timeSensitive
      }
    }
  }

  /// - Parameter outcome: If it is absent, the outcome is `none` with `code`.
  init(
    _ rule: Int, _ code: Reason.Code, _ outcome: Decision.Outcome? = nil, exceptions: Set<Exception> = [],
    _ apply: @escaping @Sendable (inout DeliveryCase) -> Void
  ) {
    self.rule = rule
    self.code = code
    self.outcome = outcome ?? .none(code)
    self.exceptions = exceptions
    self.apply = apply
  }

  private static let calls: Set<Exception> = [.call, .ringingCall]
  private static let silences = Set(Exception.allCases)

  static let all = [
    RuleExample(1, .ownMessage) { $0.message.sender = $0.recipient.user },
    RuleExample(2, .noPushAsked) { $0.message.isPushAsked = false },
    RuleExample(3, .blocked) { $0.recipient.hasBlockedSender = true },
    RuleExample(4, .read) { $0.recipient.hasRead = true },
    RuleExample(4, .received, exceptions: calls) { $0.recipient.hasReceivedActively = true },
    RuleExample(5, .deleted) { $0.message.isDeleted = true },
    RuleExample(5, .expired) { $0.message.expires = $0.now },
    RuleExample(5, .notMember) { $0.recipient.isMember = false },
    RuleExample(5, .suspended) { $0.recipient.isSuspended = true },
    RuleExample(6, .muted) { $0.recipient.roomLevel = .none },
    RuleExample(7, .notReceivedYet, .wait(until: .at(5_000)), exceptions: calls) {
      $0.recipient.sessions.append(.unreceived(.active, .written(at: .at(0))))
    },
    RuleExample(8, .receivedIdle, .wait(until: .at(30_000)), exceptions: calls) {
      $0.recipient.sessions.append(.received(.idle))
    },
    RuleExample(9, .withinGrace, .wait(until: .at(9_000)), exceptions: calls) {
      $0.recipient.away = AwayFacts(since: .at(-1_000), isClean: false)
    },
    RuleExample(10, .noDevice) { $0.device = nil },
    RuleExample(11, .notAllowed, exceptions: [.ringingCall]) { $0.device?.allowsAlerts = false },
    RuleExample(12, .focused, .hold(until: .at(hour)), exceptions: silences) { $0 = $0.focused(.hold) },
    RuleExample(13, .quietHours, .push(.passive), exceptions: silences) { $0 = $0.quietHours(.passive) },
  ]

  /// True if the facts that make one rule match prevent the other from matching, so that only the first one is a
  /// reason.
  static func exclude(_ first: RuleExample, _ second: RuleExample) -> Bool {
    if first.rule == second.rule { return true }
    return switch (first.code, second.code) {
    // A recipient who has the message is not waited for.
    case (.received, .receivedIdle): true
    // No wait or hold lasts beyond the expiry.
    case (.expired, .notReceivedYet), (.expired, .receivedIdle), (.expired, .withinGrace), (.expired, .focused): true
    // A recipient with a session is not away.
    case (.notReceivedYet, .withinGrace), (.receivedIdle, .withinGrace): true
    // These rules need a device.
    case (.noDevice, .notAllowed), (.noDevice, .focused), (.noDevice, .quietHours): true
    // The strongest of several preferences decides.
    case (.focused, .quietHours): true
    default: false
    }
  }
}

/// The order of the rules: every rule alone, every pair, and all together.
@Suite struct RuleOrderTests {
  private static let pairs = RuleExample.all.indices.flatMap { first in
    RuleExample.all[(first + 1)...].map { (RuleExample.all[first], $0) }
  }

  /// A message that is a second old, so that the age of the message and the present time differ.
  private static func facts(_ changes: (inout DeliveryCase) -> Void...) -> DeliveryCase {
    DeliveryCase.plain.with { facts in
      for change in changes { change(&facts) }
    }
  }

  @Test func `the table covers every rule`() {
    #expect(Set(RuleExample.all.map(\.rule)) == Set(1...13))
  }

  @Test(arguments: RuleExample.all)
  func `a rule that matches alone decides`(example: RuleExample) {
    let decision = decide(Self.facts(example.apply))
    #expect(decision.outcome == example.outcome)
    #expect(decision.reasons.map(\.rule) == [example.rule])
    #expect(decision.reasons.map(\.code) == [example.code])
  }

  @Test(arguments: RuleExample.all, RuleExample.Exception.allCases)
  func `some rules do not apply to calls, Notify Anyway or urgent levels`(
    example: RuleExample, exception: RuleExample.Exception
  ) {
    let facts = Self.facts(example.apply, exception.make)
    let decision = decide(facts)
    if example.exceptions.contains(exception) {
      #expect(decision.outcome == .push(facts.message.level))
      #expect(decision.reasons.map(\.rule) == [14])
    } else {
      #expect(decision.outcome == example.outcome)
      #expect(decision.reasons.map(\.code) == [example.code])
    }
  }

  @Test(arguments: pairs)
  func `the earlier of two matching rules decides, and both are reasons`(first: RuleExample, second: RuleExample) {
    for facts in [Self.facts(first.apply, second.apply), Self.facts(second.apply, first.apply)] {
      let decision = decide(facts)
      #expect(decision.outcome == first.outcome)
      let expected = RuleExample.exclude(first, second) ? [first.code] : [first.code, second.code]
      #expect(decision.reasons.map(\.code) == expected)
    }
  }

  @Test func `all rules that can match together are reasons in their order`() {
    let facts = DeliveryCase.plain.with { facts in
      for example in RuleExample.all where ![.received, .expired, .noDevice].contains(example.code) {
        example.apply(&facts)
      }
    }
    #expect(decide(facts).reasons.map(\.rule) == [1, 2, 3, 4, 5, 6, 7, 8, 11, 12])
  }
}
