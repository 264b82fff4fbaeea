// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayCore

struct LogBurstTests {
  private let start = ContinuousClock.now

  @Test func `a window has a bounded number of lines, and the next one counts the others`() {
    var burst = LogBurst()
    let lines = (0..<LogBurst.max + 3).map { _ in burst.take(now: start) }
    #expect(lines == Array(repeating: 0, count: LogBurst.max) + [nil, nil, nil])
    #expect(burst.take(now: start + LogBurst.window - .milliseconds(1)) == nil)
    #expect(burst.take(now: start + LogBurst.window) == 4)
    #expect(burst.take(now: start + LogBurst.window) == 0)
  }

  @Test func `nothing is left out where there were few`() {
    var burst = LogBurst()
    #expect(burst.take(now: start) == 0)
    #expect(burst.take(now: start + .seconds(60)) == 0)
  }
}
