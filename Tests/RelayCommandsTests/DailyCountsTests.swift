// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayState

/// The counters of a day, and the pace of the pushes of invitations.
@Suite struct DailyCountsTests {
  private let start = ContinuousClock.now

  private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test func `a key has at most the limit in a day`() {
    var counts = DailyCounts<String>()
    #expect(counts.take(2, of: "ann", limit: 3, at: at(0)) == nil)
    #expect(counts.take(1, of: "ann", limit: 3, at: at(0)) == nil)
    #expect(counts.take(1, of: "ann", limit: 3, at: at(10)) == .seconds(86_390))
    #expect(counts.take(1, of: "ann", limit: 3, at: at(86_399)) == .seconds(1))
    #expect(counts.count(of: "ann", at: at(86_399)) == 3 && counts.count(of: "ann", at: at(86_400)) == 0)
    #expect(counts.take(3, of: "ann", limit: 3, at: at(86_400)) == nil)
    #expect(counts.take(3, of: "bob", limit: 3, at: at(86_400)) == nil)
  }

  @Test func `the events of an hour end together, a day after the last of them`() {
    var counts = DailyCounts<String>()
    for seconds in [0, 3_599, 3_600] { #expect(counts.take(1, of: "ann", limit: 3, at: at(seconds)) == nil) }
    #expect(counts.count(of: "ann", at: at(86_400)) == 3)
    #expect(counts.count(of: "ann", at: at(3_599 + 86_400)) == 1)
    #expect(counts.count(of: "ann", at: at(3_600 + 86_400)) == 0)
    // Two events fit when the first hour has ended, and three when the second one has.
    #expect(counts.take(2, of: "ann", limit: 3, at: at(4_000)) == .seconds(3_599 + 86_400 - 4_000))
    #expect(counts.take(3, of: "ann", limit: 3, at: at(4_000)) == .seconds(3_600 + 86_400 - 4_000))
  }

  @Test func `events that did not happen do not count`() {
    var counts = DailyCounts<String>()
    _ = counts.take(2, of: "ann", limit: 9, at: at(0))
    _ = counts.take(3, of: "ann", limit: 9, at: at(4_000))
    counts.giveBack(4, of: "ann")
    #expect(counts.count(of: "ann", at: at(4_000)) == 1)
    counts.giveBack(9, of: "ann")
    counts.giveBack(1, of: "bob")
    #expect(counts.count(of: "ann", at: at(4_000)) == 0 && counts.keys == 0)
  }

  @Test func `the number of keys is bounded, and old keys are forgotten first`() {
    var counts = DailyCounts<Int>()
    for key in 0..<DailyCounts<Int>.maxKeys { _ = counts.take(1, of: key, limit: 1, at: at(0)) }
    _ = counts.take(1, of: -1, limit: 1, at: at(10))
    #expect(counts.keys == DailyCounts<Int>.maxKeys && counts.count(of: -1, at: at(10)) == 1)
    _ = counts.take(1, of: -2, limit: 1, at: at(86_400))
    #expect(counts.keys == 2 && counts.count(of: -1, at: at(86_400)) == 1)
  }

  @Test func `a user gets one push by an inviter and ten in a day`() {
    var pace = InvitationPace()
    let bob = UserID(unchecked: "bob")
    let inviters = (0..<InvitationPace.maxOfUser).map { UserID(unchecked: "user\($0)") }
    for (index, inviter) in inviters.enumerated() {
      #expect(!pace.isExceeded(by: inviter, to: bob, at: at(index)))
      pace.pushed(by: inviter, to: bob, at: at(index))
      #expect(pace.isExceeded(by: inviter, to: bob, at: at(index)))
    }
    let last = UserID(unchecked: "last")
    #expect(pace.isExceeded(by: last, to: bob, at: at(86_400)))
    #expect(!pace.isExceeded(by: inviters[0], to: UserID(unchecked: "eve"), at: at(20)))
    #expect(!pace.isExceeded(by: inviters[0], to: bob, at: at(86_410)))
    pace.pushed(by: last, to: UserID(unchecked: "eve"), at: at(20))
    pace.failed(by: last, to: UserID(unchecked: "eve"))
    #expect(!pace.isExceeded(by: last, to: UserID(unchecked: "eve"), at: at(20)))
  }
}
