import RelayFollowers
// SPDX-License-Identifier: Apache-2.0
import RelayHub
import Testing

/// The causes of a jump of the wall clock.
@Suite struct ClockJumpTests {
  struct Row: Sendable {
    let length, suspended, step: Duration
    let lines: [String]
  }

  @Test(arguments: [
    Row(length: .seconds(-3_600), suspended: .zero, step: .seconds(-3_600), lines: ["the wall clock was set: -3600"]),
    // Both clocks are read one after the other.
    Row(
      length: .milliseconds(400_003), suspended: .seconds(400), step: .milliseconds(3),
      lines: ["the machine was suspended: 400"]),
    Row(
      length: .seconds(100), suspended: .seconds(400), step: .seconds(-300),
      lines: ["the machine was suspended: 400", "the wall clock was set: -300"]),
  ]) func `only the part without the suspension is a step`(row: Row) {
    let jump = ClockJump(by: row.length, suspended: row.suspended)
    #expect(jump.step == row.step)
    #expect(jump.lines.map { "\($0.text): \($0.seconds)" } == row.lines)
  }
}
