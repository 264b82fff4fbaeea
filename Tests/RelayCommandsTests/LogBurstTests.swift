// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayState

struct LogBurstTests {
  private let start = ContinuousClock.now

  @Test func `a window has a limited number of lines, and the next line has the number of the others`() {
    var burst = LogBurst()
    let lines = (0..<LogBurst.max + 3).map { _ in burst.take(now: start) }
    #expect(lines == Array(repeating: 0, count: LogBurst.max) + [nil, nil, nil])
    #expect(burst.take(now: start + LogBurst.window - .milliseconds(1)) == nil)
    #expect(burst.take(now: start + LogBurst.window) == 4)
    #expect(burst.take(now: start + LogBurst.window) == 0)
  }

  @Test func `no line is left out below the limit`() {
    var burst = LogBurst()
    #expect(burst.take(now: start) == 0)
    #expect(burst.take(now: start + .seconds(60)) == 0)
  }
}
