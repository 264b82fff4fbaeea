// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// Decides every combination of the facts that affect waits, and checks the promises.
@Suite struct DecisionInvariantTests {
  private static let sessions = Activity.allCases.flatMap { activity in
    let writings: [SessionFacts.Writing] = [.pending, .written(at: .at(3_000)), .missed(joined: .at(43_000))]
    return writings.map { SessionFacts.unreceived(activity, $0) } + [.received(activity)]
  }

  private static let aways: [AwayFacts?] = [
    nil, AwayFacts(since: .at(-20_000), isClean: false), AwayFacts(since: .at(-500), isClean: true),
    AwayFacts(since: .at(-500), isClean: false), AwayFacts(since: .at(40_000), isClean: false),
  ]

  private static let times: [Int64] = [0, 4_999, 5_000, 9_499, 9_500, 29_999, 30_000, 44_999, 45_000, 60_000]

  /// Every combination of the facts that are true or false, as bits.
  private static func facts(_ bits: Int) -> DeliveryCase {
    .plain.with {
      if bits & 1 != 0 { $0.message.sender = bob }
      if bits & 2 != 0 { $0.message.isPushAsked = false }
      if bits & 4 != 0 { $0.recipient.hasRead = true }
      if bits & 8 != 0 { $0.recipient.hasReceivedActively = true }
      if bits & 16 != 0 { $0.message.isDeleted = true }
      if bits & 32 != 0 { $0.recipient.isMember = false }
      if bits & 64 != 0 { $0.device = nil }
      if bits & 128 != 0 { $0.message.expires = .at(20_000) }
      if bits & 256 != 0 { $0.message.kind = .call }
    }
  }

  @Test(arguments: 0..<512)
  func `the decision about a case with at most one session keeps the promises`(bits: Int) {
    check(bits, [[]] + Self.sessions.map { [$0] }, at: [4_999, 9_500, 30_000, 45_000])
  }

  @Test(arguments: [0, 8, 64, 128, 256])
  func `the decision about a case with two sessions keeps the promises`(bits: Int) {
    let pairs = Self.sessions.flatMap { first in Self.sessions.map { [first, $0] } }
    check(bits, pairs, at: [0, 4_999, 5_000, 9_499, 9_500, 29_999, 30_000, 44_999, 45_000, 60_000])
  }

  private func check(_ bits: Int, _ rooms: [[SessionFacts]], at times: [Int64]) {
    let base = Self.facts(bits)
    for sessions in rooms {
      for away in sessions.isEmpty ? Self.aways : [nil] {
        for time in times {
          let facts = base.with {
            $0.recipient.sessions = sessions
            $0.recipient.away = away
            $0.now = .at(time)
          }
          let decision = decide(facts)
          if let broken = brokenPromise(decision, of: facts) {
            Issue.record("\(broken): \(facts) gave \(decision)")
            return
          }
        }
      }
    }
  }
}
