// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@Suite struct PauseDetectorTests {
  private static let start = ContinuousClock.now

  private static func reading(_ clock: Int, timeOfDay: Int? = nil) -> PauseDetector.Reading {
    PauseDetector.Reading(
      clock: start + .milliseconds(clock), timeOfDay: .seconds(1_000) + .milliseconds(timeOfDay ?? clock))
  }

  /// A detector of a leader that has proved its term.
  private static func detector() -> PauseDetector {
    var detector = PauseDetector(reading(0))
    detector.confirmed(began: reading(0), now: reading(0))
    return detector
  }

  @Test func `a new leader checks the log first`() {
    var detector = PauseDetector(Self.reading(0))
    #expect(detector.observed(Self.reading(10)) == true)
    detector.confirmed(began: Self.reading(10), now: Self.reading(20))
    #expect(detector.observed(Self.reading(30)) == false)
  }

  @Test(
    arguments: [
      ([(200, 200), (400, 400), (600, 600)], false),
      ([(499, 499)], false),
      ([(500, 500)], true),
      // One clock stands still.
      ([(10, 500)], true), ([(500, 10)], true),
      // The time of day jumps.
      ([(10, 60_000)], true), ([(10, -60_000)], false), ([(10, -60_000), (20, -59_990)], false),
    ] as [([(Int, Int)], Bool)])
  func `a long pause needs a check`(_ readings: [(Int, Int)], _ needsCheck: Bool) {
    var detector = Self.detector()
    for (clock, timeOfDay) in readings { _ = detector.observed(Self.reading(clock, timeOfDay: timeOfDay)) }
    #expect(detector.needsCheck == needsCheck)
  }

  @Test func `a pause during the check needs another one`() {
    var detector = Self.detector()
    #expect(detector.observed(Self.reading(2_000)) == true)
    detector.confirmed(began: Self.reading(2_000), now: Self.reading(2_600))
    #expect(detector.needsCheck)
    detector.confirmed(began: Self.reading(2_600), now: Self.reading(2_610))
    #expect(!detector.needsCheck)
  }

  @Test func `an old proof needs a new one`() {
    var detector = Self.detector()
    for time in stride(from: 150, to: 750, by: 150) { #expect(detector.observed(Self.reading(time)) == false) }
    #expect(detector.observed(Self.reading(750)) == true)
    // The publish took long, but the process was not paused.
    detector.confirmed(began: Self.reading(300), now: Self.reading(900))
    #expect(!detector.needsCheck)
    // The proof is as old as the begin of its publish.
    #expect(detector.observed(Self.reading(1_049)) == false)
    #expect(detector.observed(Self.reading(1_050)) == true)
  }

  @Test func `a leader that is cut off stops before another node begins`() {
    // The last heartbeat of a leader is at most one interval older than its last proof.
    #expect(PauseDetector.maxAge + Heartbeat.interval < Takeover.silence)
  }

  @Test func `threads may report the time out of order`() {
    var detector = Self.detector()
    #expect(detector.observed(Self.reading(400)) == false)
    #expect(detector.observed(Self.reading(390)) == false)
    #expect(detector.observed(Self.reading(700)) == false)
    #expect(detector.observed(Self.reading(1_200)) == true)
  }
}

@Suite struct AlarmTests {
  static let alarms: [(Alarm, String)] = [
    (.recreated(.at(4), .of(1, 0, generation: 8)), "recreated"), (.lostTail(.at(4), .of(1, 3)), "lost_tail"),
    (.diverged(.at(4), term: 2), "diverged"), (.unknownSchema("a", sequence: 5), "unknown_schema"),
    (.invalidRecord(RecordError(sequence: 5, code: .invalidBody)), "invalid_record"),
    (.unexpectedTerm(3, sequence: 5), "unexpected_term"), (.misplaced(expected: 5, stored: 6), "misplaced"),
    (.conflict(5), "conflict"), (.newerSchema(snapshot: nil), "newer_schema"),
    (.newerSchema(snapshot: "a.1"), "newer_schema"),
  ]

  @Test(arguments: alarms) func `an alarm has a label, and explains the next step`(_ alarm: Alarm, _ code: String) {
    #expect(alarm.code == code)
    let steps = [
      "stillwire cluster reset", "Check ", "Upgrade this node: install ", "Compare ", " move ", "Restart this node",
    ]
    #expect(steps.contains { "\(alarm)".contains($0) })
  }

  @Test func `a deleted log is not called a new one`() {
    let text = "\(Alarm.recreated(.at(4), .of(1, 0, generation: 0)))"
    #expect(text.hasPrefix("The log was deleted. This node's file ends at sequence 4 of term 1 in generation 7."))
  }
}
