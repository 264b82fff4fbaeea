// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@Suite struct LogPositionTests {
  @Test(arguments: [
    LogPosition(), .at(0), .at(1),
    LogPosition(generation: .max, term: 1 << 63 - 1, sequence: 1 << 63 - 1, gid: "a-b.c"),
  ])
  func `a position is the same after its text`(_ position: LogPosition) {
    #expect(LogPosition(text: position.text) == position)
  }

  @Test(arguments: [
    "", "7", "7 1 1", "7 1 1 ", "7 1 0 g", "7 1 1 g h", "-7 1 1 g", "07 1 1 g", "7 1 1 ü", "7  1 1 g", "none",
    "7 1 9223372036854775808 g", "7 18446744073709551615 1 g",
  ])
  func `other texts are no position`(_ text: String) {
    #expect(LogPosition(text: text) == nil)
  }
}
