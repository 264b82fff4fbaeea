// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// The backoff of failed pushes.
@Suite struct RetryPolicyTests {
  private static let never = Timestamp(rawValue: 1 << 53)
  private let policy = RetryPolicy()

  @Test(arguments: [
    (1, 2), (2, 4), (3, 8), (4, 16), (9, 512), (10, 900), (11, 900), (1_000, 900), (Int.max, 900), (0, 2),
  ])
  func `a delay is random between 1 s and a bound that doubles up to 15 min`(attempts: Int, bound: Int) throws {
    var dice = SeededGenerator(seed: 7)
    let delays = try (0..<2_000).map { _ in
      let due = try #require(policy.next(after: attempts, now: .at(0), expires: Self.never, using: &dice))
      return (due - .at(0)).milliseconds
    }
    let (low, high) = (Int64(1_000), Int64(bound) * 1_000)
    #expect(delays.allSatisfy { (low...high).contains($0) })
    let tenth = (high - low) / 10
    #expect(delays.contains { $0 < low + tenth })
    #expect(delays.contains { $0 > high - tenth })
  }

  @Test(arguments: [1, 2, 10])
  func `a longer delay that the gateway requests is used`(attempts: Int) throws {
    var dice = SeededGenerator(seed: 7)
    let due = policy.next(
      after: attempts, retryAfter: .seconds(3_600), now: .at(0), expires: Self.never, using: &dice)
    #expect(due == .at(3_600_000))
  }

  @Test func `a shorter delay that the gateway requests has no effect`() {
    var (dice, same) = (SeededGenerator(seed: 7), SeededGenerator(seed: 7))
    let due = policy.next(after: 9, now: .at(0), expires: Self.never, using: &dice)
    #expect(policy.next(after: 9, retryAfter: .zero, now: .at(0), expires: Self.never, using: &same) == due)
  }

  @Test(arguments: [(9_999, false), (10_000, false), (10_001, true)])
  func `no attempt is made at the expiry or later`(expiry: Int64, isTried: Bool) {
    var dice = SeededGenerator(seed: 7)
    let due = policy.next(after: 1, retryAfter: .seconds(10), now: .at(0), expires: .at(expiry), using: &dice)
    #expect(due == (isTried ? .at(10_000) : nil))
  }

  @Test func `a delay that exceeds the range of times is safe`() {
    var dice = SeededGenerator(seed: 7)
    let forever = Duration.seconds(Int64.max)
    #expect(policy.next(after: 1, retryAfter: forever, now: .at(0), expires: Self.never, using: &dice) == nil)
  }

  @Test func `an expired message is not tried again`() {
    var dice = SeededGenerator(seed: 7)
    #expect(policy.next(after: 1, now: .at(0), expires: .at(-1), using: &dice) == nil)
  }
}
