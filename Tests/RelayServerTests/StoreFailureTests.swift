// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

@Suite struct StoreFailureTests {
  /// Returns the seconds at which the leader steps down.
  private func ends(_ availability: [Bool]) -> [Int] {
    var failure = StoreFailure()
    let begin = ContinuousClock.now
    return availability.enumerated().compactMap { second, isAvailable in
      failure.isTooLong(isAvailable: isAvailable, at: begin + .seconds(second)) ? second : nil
    }
  }

  @Test func `five seconds of failures end the leadership once`() {
    #expect(ends([true, false, false, false, false, false, false, false]) == [6])
  }

  @Test func `a success in between begins the time again`() {
    #expect(ends([false, false, false, false, true, false, false, false, false, false]) == [])
  }
}
