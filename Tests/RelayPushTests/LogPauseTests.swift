// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayPush

@Suite struct LogPauseTests {
  @Test func `a failure is logged at once and then after each pause`() {
    var pause = LogPause()
    let start = ContinuousClock.now
    let logged = (0..<200).filter { pause.isOver(now: start + .milliseconds($0 * 100)) }
    #expect(logged == [0, 100])
  }
}
