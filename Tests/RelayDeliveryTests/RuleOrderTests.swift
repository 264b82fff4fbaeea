// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// A rule with a change that makes it match, and the outcome when no other rule matches.
struct Speaker: CustomTestStringConvertible, Sendable {
  let rule: Int
  let code: Reason.Code
  let outcome: Decision.Outcome
  /// The cases to which the rule does not apply.
  let spares: Set<Exception>
  let provoke: @Sendable (inout DeliveryCase) -> Void

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
    _ rule: Int, _ code: Reason.Code, _ outcome: Decision.Outcome? = nil, spares: Set<Exception> = [],
    _ provoke: @escaping @Sendable (inout DeliveryCase) -> Void
  ) {
    self.rule = rule
    self.code = code
    self.outcome = outcome ?? .none(code)
    self.spares = spares
    self.provoke = provoke
  }

  private static let calls: Set<Exception> = [.call, .ringingCall]
  private static let silences = Set(Exception.allCases)

  static let all = [
    Speaker(1, .ownMessage) { $0.message.sender = $0.recipient.user },
    Speaker(2, .noPushAsked) { $0.message.isPushAsked = false },
    Speaker(3, .blocked) { $0.recipient.hasBlockedSender = true },
    Speaker(4, .read) { $0.recipient.hasRead = true },
    Speaker(4, .received, spares: calls) { $0.recipient.hasReceivedActively = true },
    Speaker(5, .deleted) { $0.message.isDeleted = true },
    Speaker(5, .expired) { $0.message.expires = $0.now },
    Speaker(5, .notMember) { $0.recipient.isMember = false },
    Speaker(6, .muted) { $0.recipient.roomLevel = .none },
    Speaker(7, .notReceivedYet, .wait(until: .at(5_000)), spares: calls) {
      $0.recipient.sessions.append(.unreceived(.active, .written(at: .at(0))))
    },
    Speaker(8, .receivedIdle, .wait(until: .at(30_000)), spares: calls) {
      $0.recipient.sessions.append(.received(.idle))
    },
    Speaker(9, .withinGrace, .wait(until: .at(9_000)), spares: calls) {
      $0.recipient.away = AwayFacts(since: .at(-1_000), isClean: false)
    },
    Speaker(10, .noDevice) { $0.device = nil },
    Speaker(11, .notAllowed, spares: [.ringingCall]) { $0.device?.allowsAlerts = false },
    Speaker(12, .focused, .hold(until: .at(hour)), spares: silences) { $0 = $0.focused(.hold) },
    Speaker(13, .quietHours, .push(.passive), spares: silences) { $0 = $0.quiet(.passive) },
  ]

  /// True if the facts that make one rule match prevent the other from matching, so that only the first one is a
  /// reason.
  static func exclude(_ first: Speaker, _ second: Speaker) -> Bool {
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
  private static let pairs = Speaker.all.indices.flatMap { first in
    Speaker.all[(first + 1)...].map { (Speaker.all[first], $0) }
  }

  /// A message that is a second old, so that the age of the message and the present time differ.
  private static func facts(_ provoke: (inout DeliveryCase) -> Void...) -> DeliveryCase {
    DeliveryCase.plain.with { facts in
      for change in provoke { change(&facts) }
    }
  }

  @Test func `the table covers every rule`() {
    #expect(Set(Speaker.all.map(\.rule)) == Set(1...13))
  }

  @Test(arguments: Speaker.all)
  func `a rule that matches alone decides`(speaker: Speaker) {
    let decision = decide(Self.facts(speaker.provoke))
    #expect(decision.outcome == speaker.outcome)
    #expect(decision.reasons.map(\.rule) == [speaker.rule])
    #expect(decision.reasons.map(\.code) == [speaker.code])
  }

  @Test(arguments: Speaker.all, Speaker.Exception.allCases)
  func `some rules do not apply to calls, Notify Anyway or urgent levels`(
    speaker: Speaker, exception: Speaker.Exception
  ) {
    let facts = Self.facts(speaker.provoke, exception.make)
    let decision = decide(facts)
    if speaker.spares.contains(exception) {
      #expect(decision.outcome == .push(facts.message.level))
      #expect(decision.reasons.map(\.rule) == [14])
    } else {
      #expect(decision.outcome == speaker.outcome)
      #expect(decision.reasons.map(\.code) == [speaker.code])
    }
  }

  @Test(arguments: pairs)
  func `the earlier of two matching rules decides, and both are reasons`(first: Speaker, second: Speaker) {
    for facts in [Self.facts(first.provoke, second.provoke), Self.facts(second.provoke, first.provoke)] {
      let decision = decide(facts)
      #expect(decision.outcome == first.outcome)
      let expected = Speaker.exclude(first, second) ? [first.code] : [first.code, second.code]
      #expect(decision.reasons.map(\.code) == expected)
    }
  }

  @Test func `all rules that can match together are reasons in their order`() {
    let facts = DeliveryCase.plain.with { facts in
      for speaker in Speaker.all where ![.received, .expired, .noDevice].contains(speaker.code) {
        speaker.provoke(&facts)
      }
    }
    #expect(decide(facts).reasons.map(\.rule) == [1, 2, 3, 4, 5, 6, 7, 8, 11, 12])
  }
}
