// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// Properties of every decision, with random cases. A failure names the seed and the case.
@Suite struct DecisionPropertyTests {
  private static let seeds: Range<Int> = 0..<8

  private func forCases(_ seed: Int, _ check: (DeliveryCase) throws -> String?) rethrows {
    var dice = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let facts = DeliveryCase.random(using: &dice)
      guard let broken = try check(facts) else { continue }
      Issue.record("\(broken): \(facts) gave \(decide(facts))")
      return
    }
  }

  @Test(arguments: seeds)
  func `every promise is kept`(seed: Int) {
    forCases(seed) { brokenPromise(decide($0), of: $0) }
  }

  @Test func `the random cases produce every reason`() {
    var dice = SeededGenerator(seed: 1)
    var counts: [Reason.Code: Int] = [:]
    for _ in 0..<10_000 {
      let decision = decide(.random(using: &dice))
      // The first reason decides. The others accompany it.
      counts[decision.reasons[0].code, default: 0] += 1
      for reason in decision.reasons.dropFirst() where [.levelLowered, .noVoIPEntitlement].contains(reason.code) {
        counts[reason.code, default: 0] += 1
      }
    }
    for code in Reason.Code.allCases { #expect(counts[code] ?? 0 > 25, "\(code)") }
  }

  /// The loudness of an outcome: 0 without a push, and higher for a higher level.
  private static func loudness(_ outcome: Decision.Outcome) -> Int {
    switch outcome {
    case .none, .wait, .hold: 0
    case .push(let level): 1 + (Level.allCases.firstIndex(of: level) ?? 0)
    }
  }

  /// Changes that make a fact unknown or expired, so that it can neither hold a push nor make it passive.
  private static let doubts: [(String, @Sendable (inout DeliveryCase) -> Void)] = [
    ("no Focus is known", { $0.device?.focusedUntil = nil }),
    ("the Focus is stale", { $0.device?.focusedUntil = $0.now }),
    ("no filter is known", { $0.device?.filter = nil }),
    ("the filter is stale", { $0.device?.filter?.until = $0.now }),
    (
      "no label is known",
      {
        $0.message.criteria = nil
        $0.recipient.roomCriteria = nil
        $0.device?.criteria = nil
      }
    ),
    ("no quiet hours are known", { $0.device?.quiet = nil }),
    ("the quiet hours are over", { $0.device?.quiet?.until = $0.now }),
    ("the recipient has no preference for Focus", { $0.recipient.onFocus = .deliver }),
    ("no report says that alerts are off", { $0.device?.allowsAlerts = true }),
    ("the room is not muted", { $0.recipient.roomLevel = .all }),
    ("the sender is not blocked", { $0.recipient.hasBlockedSender = false }),
    ("the end of the last session is unknown", { $0.recipient.away = nil }),
    (
      "the recipient has no session",
      {
        $0.recipient.sessions = []; $0.recipient.away = nil
      }
    ),
    ("it was not received", { $0.recipient.hasReceivedActively = false }),
    ("it was not read", { $0.recipient.hasRead = false }),
  ]

  @Test(arguments: doubts.indices)
  func `an unknown fact never makes a decision quieter`(index: Int) {
    let (name, doubt) = Self.doubts[index]
    for seed in Self.seeds.prefix(2) {
      forCases(seed) { facts in
        let (known, doubted) = (decide(facts).outcome, decide(facts.with(doubt)).outcome)
        if Self.loudness(doubted) < Self.loudness(known) { return "\(name), and it is quieter: \(doubted)" }
        return nil
      }
    }
  }

  @Test(arguments: seeds)
  func `an expired fact has no effect`(seed: Int) {
    forCases(seed) { facts in
      let stale = facts.with {
        $0.device?.focusedUntil = $0.now
        $0.device?.filter?.until = $0.now
        $0.device?.quiet?.until = $0.now
      }
      let none = facts.with {
        $0.device?.focusedUntil = nil
        $0.device?.filter = nil
        $0.device?.quiet = nil
      }
      let decision = decide(none)
      if decide(stale) != decision { return "an expired fact counts" }
      if case .hold = decision.outcome, decision.reasons[0].code != .unread { return "held without a silence" }
      return decision.reasons.contains { [.focused, .filtered, .quietHours].contains($0.code) }
        ? "a silence without a cause" : nil
    }
  }

  @Test(arguments: seeds)
  func `the rules before that of no_device do not look at the device`(seed: Int) {
    var dice = SeededGenerator(seed: seed)
    let last = decide(DeliveryCase.plain.with { $0.device = nil }).reasons[0].rule
    forCases(seed) { facts in
      let other = DeliveryCase.random(using: &dice).device
      guard facts.device != nil, let other else { return nil }
      func rules(_ facts: DeliveryCase) -> [Reason] { decide(facts).reasons.filter { $0.rule <= last } }
      if rules(facts) != rules(facts.with { $0.device = other }) { return "another device, other reasons" }
      let decision = decide(facts)
      return decision.reasons[0].rule <= last && decide(facts.with { $0.device = other }).outcome != decision.outcome
        ? "another device, another outcome" : nil
    }
  }

  @Test(arguments: seeds)
  func `a call never waits, and of all receipts only a read mark ends it`(seed: Int) {
    forCases(seed) { facts in
      let call = facts.with {
        $0.message.kind = .call
        $0.device = $0.device ?? DeviceFacts()
        $0.device?.hasVoIPToken = true
        $0.recipient.quietCalls = nil
      }
      let codes = decide(call).reasons.map(\.code)
      let allowed: Set<Reason.Code> = [
        .ownMessage, .noPushAsked, .largeRoom, .blocked, .read, .deleted, .expired, .notMember, .suspended, .muted,
        .overPace, .nothingAgainst, .levelLowered, .noVoIPEntitlement,
      ]
      return allowed.isSuperset(of: codes) ? nil : "a call is affected by \(codes)"
    }
  }

  @Test(arguments: seeds)
  func `JSON preserves facts and decisions`(seed: Int) throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    try forCases(seed) { facts in
      let again = try decoder.decode(DeliveryCase.self, from: encoder.encode(facts))
      let decision = decide(facts)
      let same = try decoder.decode(Decision.self, from: encoder.encode(decision))
      return again == facts && same == decision ? nil : "it was decoded as \(again), \(same)"
    }
  }

  @Test func `the facts of a device name the source of its Focus`() throws {
    let facts = DeviceFacts(focusedUntil: .at(hour), focusSource: .manual)
    #expect(facts.focusSource == .manual)
    #expect(try JSONDecoder().decode(DeviceFacts.self, from: JSONEncoder().encode(facts)) == facts)
  }

  @Test(arguments: [
    (
      Decision(outcome: .none(.read), reasons: [Reason(rule: 4, code: .read, words: "w")]),
      #"{"outcome":{"kind":"none","reason":"read"},"reasons":[{"code":"read","rule":4,"words":"w"}]}"#
    ),
    (
      Decision(outcome: .push(.timeSensitive), reasons: []),
      #"{"outcome":{"kind":"push","level":"timeSensitive"},"reasons":[]}"#
    ),
    (
      Decision(outcome: .wait(until: Timestamp(rawValue: 5)), reasons: []),
      #"{"outcome":{"kind":"wait","until":5},"reasons":[]}"#
    ),
    (
      Decision(outcome: .hold(until: Timestamp(rawValue: 6)), reasons: []),
      #"{"outcome":{"kind":"hold","until":6},"reasons":[]}"#
    ),
  ])
  func `a decision has this JSON`(decision: Decision, json: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(decision), as: UTF8.self) == json)
  }
}
