// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

@Suite struct LogSilenceTests {
  @Test(arguments: [
    ([(0, true), (19, true)], false), ([(0, true), (20, true)], true), ([(0, true), (10, false), (25, true)], false),
    ([(0, true), (10, false), (15, true), (35, true)], true), ([(0, false), (60, false)], false),
  ])
  func `a node begins again after 20 s without an answer`(_ turns: [(Int, Bool)], _ isTooLong: Bool) {
    var silence = LogSilence()
    let begin = ContinuousClock.now
    var result = false
    for (second, isSilent) in turns {
      result = silence.isTooLong(isSilent: isSilent, at: begin + .seconds(second))
    }
    #expect(result == isTooLong)
  }
}
