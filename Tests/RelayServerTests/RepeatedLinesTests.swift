// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayServer

@Suite struct RepeatedLinesTests {
  private let start = ContinuousClock.now

  @Test func `each text is admitted once a minute`() {
    var lines = RepeatedLines()
    let steps = [
      ("a", 0, true), ("a", 59, false), ("b", 59, true), ("a", 60, true), ("b", 118, false), ("b", 119, true),
    ]
    for (text, seconds, isAdmitted) in steps {
      #expect(lines.admits(text, at: start + .seconds(seconds)) == isAdmitted, "\(text) at \(seconds) s")
    }
  }

  @Test func `the number of texts has a limit`() {
    var lines = RepeatedLines()
    let admitted = (0..<100).count { lines.admits("\($0)", at: start) }
    #expect(admitted == RepeatedLines.maxTexts)
  }
}
