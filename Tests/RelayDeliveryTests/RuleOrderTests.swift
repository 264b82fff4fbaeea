// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// A rule with a change that makes it match, and the outcome when no other rule matches.
struct RuleExample: CustomTestStringConvertible, Sendable {
  let code: Reason.Code
  let outcome: Decision.Outcome
  /// The cases to which the rule does not apply.
  let exceptions: Set<Exception>
  let apply: @Sendable (inout DeliveryCase) -> Void

  var testDescription: String { code.rawValue }

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
    _ code: Reason.Code, _ outcome: Decision.Outcome? = nil, exceptions: Set<Exception> = [],
    _ apply: @escaping @Sendable (inout DeliveryCase) -> Void
  ) {
    self.code = code
    self.outcome = outcome ?? .none(code)
    self.exceptions = exceptions
    self.apply = apply
  }

  /// The number of the rule in the table, which the code of the example identifies.
  var rule: Int? { Self.ruleCodes.firstIndex { $0.contains(code) }.map { $0 + 1 } }

  /// The codes of the rules, in their order.
  static let ruleCodes: [Set<Reason.Code>] = [
    [.ownMessage], [.noPushAsked], [.largeRoom], [.blocked], [.invitedTooOften], [.read], [.received],
    [.deleted, .expired, .notMember, .suspended], [.muted], [.overPace], [.notReceivedYet], [.receivedIdle],
    [.withinGrace],
    [.noDevice], [.notAllowed], [.unread], [.focused], [.quietHours],
  ]

  private static let calls: Set<Exception> = [.call, .ringingCall]
  private static let silences = Set(Exception.allCases)

  static let all = [
    RuleExample(.ownMessage) { $0.message.sender = $0.recipient.user },
    RuleExample(.noPushAsked) { $0.message.isPushAsked = false },
    RuleExample(.largeRoom) { $0.recipient.isRoomTooLarge = true },
    RuleExample(.blocked) { $0.recipient.hasBlockedSender = true },
    RuleExample(.invitedTooOften, exceptions: calls) {
      $0.message.kind = .invitation
      $0.recipient.isInvitedTooOften = true
    },
    RuleExample(.read) { $0.recipient.hasRead = true },
    RuleExample(.received, exceptions: calls) { $0.recipient.hasReceivedActively = true },
    RuleExample(.deleted) { $0.message.isDeleted = true },
    RuleExample(.expired) { $0.message.expires = $0.now },
    RuleExample(.notMember) { $0.recipient.isMember = false },
    RuleExample(.suspended) { $0.recipient.isSuspended = true },
    RuleExample(.muted) { $0.recipient.roomLevel = .none },
    RuleExample(.overPace) { $0.recipient.isOverCallPace = true },
    RuleExample(.notReceivedYet, .wait(until: .at(5_000)), exceptions: calls) {
      $0.recipient.sessions.append(.unreceived(.active, .written(at: .at(0))))
    },
    RuleExample(.receivedIdle, .wait(until: .at(30_000)), exceptions: calls) {
      $0.recipient.sessions.append(.received(.idle))
    },
    RuleExample(.withinGrace, .wait(until: .at(9_000)), exceptions: calls) {
      $0.recipient.away = AwayFacts(since: .at(-1_000), isClean: false)
    },
    RuleExample(.noDevice) { $0.device = nil },
    RuleExample(.notAllowed, exceptions: [.ringingCall]) { $0.device?.allowsAlerts = false },
    RuleExample(.unread, .hold(until: .at(60_000)), exceptions: calls) {
      $0.recipient.hasReceivedActively = true
      $0.recipient.pushUnreadAfter = 60
    },
    RuleExample(.focused, .hold(until: .at(hour)), exceptions: silences) { $0 = $0.focused(.hold) },
    RuleExample(.quietHours, .push(.passive), exceptions: silences) { $0 = $0.quietHours(.passive) },
  ]

  /// True if the facts that make one rule match prevent the other from matching, so that only the first one is a
  /// reason.
  static func exclude(_ first: RuleExample, _ second: RuleExample) -> Bool {
    if first.rule == second.rule { return true }
    return switch (first.code, second.code) {
    // A recipient who has the message is not waited for.
    case (.received, .receivedIdle): true
    // No wait or hold lasts beyond the expiry.
    case (.expired, .notReceivedYet), (.expired, .receivedIdle), (.expired, .withinGrace), (.expired, .focused),
      (.expired, .unread):
      true
    // A recipient with a session is not away.
    case (.notReceivedYet, .withinGrace), (.receivedIdle, .withinGrace): true
    // These rules need a device.
    case (.noDevice, .notAllowed), (.noDevice, .unread), (.noDevice, .focused), (.noDevice, .quietHours): true
    // The strongest of several preferences decides.
    case (.focused, .quietHours): true
    default: false
    }
  }
}

/// The order of the rules: every rule alone, every pair, and all together.
@Suite struct RuleOrderTests {
  /// All pairs but those of a message that an active session has received, or has not received. An invitation that a
  /// session has received has no push later.
  private static let pairs = RuleExample.all.indices.flatMap { first in
    RuleExample.all[(first + 1)...].map { (RuleExample.all[first], $0) }
      .filter { ![.received, .receivedIdle, .invitedTooOften].contains($0.code) || $1.code != .unread }
  }

  /// A message that is a second old, so that the age of the message and the present time differ.
  private static func facts(_ changes: (inout DeliveryCase) -> Void...) -> DeliveryCase {
    DeliveryCase.plain.with { facts in
      for change in changes { change(&facts) }
    }
  }

  @Test func `the table covers every rule`() {
    #expect(rules.count == RuleExample.ruleCodes.count)
    #expect(RuleExample.all.map(\.rule) == RuleExample.all.compactMap(\.rule).sorted())
    #expect(Set(RuleExample.all.map(\.rule)) == Set(1...rules.count))
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
      #expect(decision.reasons.map(\.rule) == [lastRule])
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
      for example in RuleExample.all where ![.received, .expired, .noDevice, .unread].contains(example.code) {
        example.apply(&facts)
      }
    }
    #expect(decide(facts).reasons.map(\.rule) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 15, 17])
  }
}
