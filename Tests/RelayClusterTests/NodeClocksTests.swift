// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

/// The clocks of the nodes: the difference to each, and which standby goes first.
@Suite struct NodeClocksTests {
  private static let start = ContinuousClock.now

  private static func reading(_ seconds: Double, ahead: Double = 0) -> PauseDetector.Reading {
    PauseDetector.Reading(clock: start + .seconds(seconds), timeOfDay: .seconds(1_000_000 + seconds + ahead))
  }

  private static func notice(_ node: String, sent seconds: Double, ahead: Double = 0) -> ClockNotice {
    ClockNotice(node: node, time: .seconds(1_000_000 + seconds + ahead))
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    /// The clock of each node minus the true time, in seconds. `own` is this node, and `lead` has led until now.
    let clocks: [String: Double]
    /// The nodes that are gone, except for the leader.
    var gone: Set<String> = []
    let yields: Bool

    init(_ description: String, _ clocks: [String: Double], gone: Set<String> = [], _ yields: Bool) {
      testDescription = description
      self.clocks = clocks
      self.gone = gone
      self.yields = yields
    }
  }

  static let rows = [
    Row("no other node", ["own": 600], false),
    Row("all clocks agree", ["own": 0, "lead": 0, "other": 0], false),
    Row("a difference within the tolerance", ["own": 4, "lead": 0, "other": 0], false),
    Row("the own clock is wrong", ["own": 600, "lead": 0, "other": 0], true),
    Row("the own clock is behind", ["own": -600, "lead": 0, "other": 0], true),
    Row("the clock of the other standby is wrong", ["own": 0, "lead": 0, "other": 600], false),
    Row("the clock of the leader was wrong", ["own": 0, "lead": 600, "other": 0], false),
    Row("the clock of the leader was wrong, and so is the own one", ["own": 600, "lead": 600, "other": 0], false),
    Row("all clocks differ", ["own": 0, "lead": 600, "other": -600], false),
    Row("the other standby, whose clock agrees, is gone", ["own": 600, "lead": 0, "other": 0], gone: ["other"], false),
    Row("two nodes", ["own": 600, "lead": 0], false),
    Row("the leader was not heard", ["own": 600, "other": 0], false),
    Row("four nodes", ["own": 600, "lead": 0, "b": 0, "c": 0], true),
    Row("two of four nodes agree with the own clock", ["own": 600, "lead": 600, "b": 0, "c": 0], false),
  ]

  @Test(arguments: rows) func `a standby lets another one go first`(row: Row) throws {
    var clocks = NodeClocks()
    let own = try #require(row.clocks["own"])
    for second in 0..<12 {
      for (node, ahead) in row.clocks {
        let isGone = (node == "lead" && second >= 10) || (row.gone.contains(node) && second >= 2)
        guard !isGone else { continue }
        clocks.received(
          Self.notice(node, sent: Double(second), ahead: ahead), at: Self.reading(Double(second), ahead: own))
      }
    }
    #expect(clocks.yields("own", to: "lead", at: Self.reading(11.5).clock) == row.yields)
  }

  @Test func `a notice that arrives late does not change the difference`() {
    var clocks = NodeClocks()
    #expect(clocks.difference(to: "b", at: Self.start) == nil)
    clocks.received(Self.notice("b", sent: 0, ahead: 7), at: Self.reading(0))
    #expect(clocks.difference(to: "b", at: Self.reading(1).clock) == .seconds(-7))
    // Six notices wait for 6 s, and arrive together.
    for second in 1...6 {
      clocks.received(Self.notice("b", sent: Double(second), ahead: 7), at: Self.reading(6))
    }
    #expect(clocks.difference(to: "b", at: Self.reading(6).clock) == .seconds(-7))
    #expect(clocks.difference(to: "b", at: Self.reading(8.9).clock) == .seconds(-7))
    #expect(clocks.difference(to: "b", at: Self.reading(9).clock) == nil)
  }

  @Test func `a clock that is set shows after five notices at most`() {
    var clocks = NodeClocks()
    for second in 0..<5 { clocks.received(Self.notice("b", sent: Double(second)), at: Self.reading(Double(second))) }
    for second in 5..<10 {
      clocks.received(Self.notice("b", sent: Double(second)), at: Self.reading(Double(second), ahead: 600))
    }
    #expect(clocks.difference(to: "b", at: Self.reading(9).clock) == .seconds(600))
    clocks.received(Self.notice("b", sent: 10), at: Self.reading(10, ahead: -600))
    #expect(clocks.difference(to: "b", at: Self.reading(10).clock) == .seconds(-600))
  }

  @Test func `the number of nodes is bounded, and a node that is gone makes room`() {
    var clocks = NodeClocks()
    for number in 0..<100 { clocks.received(Self.notice("n\(number)", sent: 0), at: Self.reading(0)) }
    #expect(clocks.difference(to: "n63", at: Self.start) != nil)
    #expect(clocks.difference(to: "n64", at: Self.start) == nil)
    clocks.received(Self.notice("n64", sent: 60), at: Self.reading(60))
    #expect(clocks.difference(to: "n64", at: Self.reading(60).clock) == .zero)
  }

  @Test func `a notice is parsed as it was written, and nothing else is one`() {
    let notice = ClockNotice(node: "a-1", time: .milliseconds(1_700_000_000_123))
    #expect(notice.text == "clock a-1 1700000000123")
    #expect(ClockNotice(text: notice.text) == notice)
    #expect(Heartbeat(text: notice.text) == nil)
    for text in [
      "", "clock", "clock a", "clock a 1 2", "clock  1", "clock a.b 1", "clock a 01", "clock a -1", "Clock a 1",
      "clock a 253402300800000", "clock \(String(repeating: "a", count: 500)) 1",
    ] {
      #expect(ClockNotice(text: text) == nil, "\(text)")
    }
  }
}

/// The age of an idempotency key after a takeover: it depends on the records alone.
@Suite struct KeyClockTests {
  /// The time of the newest record, the seconds since the new leader has found it, and the clock for keys.
  @Test(arguments: [(1_000, 0, 1_000), (1_000, 30, 1_030), (0, 0, 0), (5, -3, 5)])
  func `the clock for keys continues at the newest record`(_ newest: Int, _ passed: Int, _ expected: Int) {
    let now = ContinuousClock.now
    #expect(KeyClock(after: .seconds(newest), at: now).time(at: now + .seconds(passed)) == .seconds(expected))
  }
}
