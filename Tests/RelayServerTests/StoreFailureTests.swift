// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

@Suite struct StoreFailureTests {
  /// Returns the seconds at which the leader steps down.
  /// - Parameter damage: The second from which on the database is damaged.
  private func ends(_ availability: [Bool], damage: Int = .max) -> [Int] {
    var failure = StoreFailure()
    let begin = ContinuousClock.now
    return availability.enumerated().compactMap { second, isAvailable in
      let cause = failure.observe(
        isAvailable: isAvailable, isDamaged: second >= damage, at: begin + .seconds(second))
      #expect(cause == nil || cause == (second >= damage ? .damage : .outage))
      return cause == nil ? nil : second
    }
  }

  @Test func `five seconds of failures end the leadership once`() {
    #expect(ends([true, false, false, false, false, false, false, false]) == [6])
  }

  @Test func `a damage ends the leadership at once, and once`() {
    #expect(ends([true, true, false, false, false, false, false, false, false], damage: 2) == [2])
    #expect(ends([false, false, true], damage: 1) == [1])
  }

  @Test func `a success in between begins the time again`() {
    #expect(ends([false, false, false, false, true, false, false, false, false, false]) == [])
  }
}
