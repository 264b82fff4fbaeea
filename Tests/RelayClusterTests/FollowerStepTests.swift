// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayCluster

@Suite struct FollowerStepTests {
  /// The clock for keys of a new leader begins at this time.
  @Test func `the time is that of the newest record, and never goes back`() {
    func record(_ sequence: UInt64, _ seconds: Int) -> LogRecord {
      LogRecord(sequence: sequence, term: 1, gid: "g\(sequence)", time: .seconds(seconds), content: .noop)
    }
    var step = FollowerStep(position: .at(4))
    #expect(step.time == nil)
    #expect(step.check(.of(1, 4), newest: .record(record(4, 40))) == .advance)
    #expect(step.time == .seconds(40))
    for (sequence, seconds, expected) in [(5, 50, 50), (6, 45, 50), (7, 51, 51)] {
      #expect(step.received(.record(record(UInt64(sequence), seconds))) == .advance)
      #expect(step.time == .seconds(expected))
    }
    // A record that the file has already changes nothing.
    #expect(step.received(.record(record(5, 99))) == .ignore)
    #expect(step.time == .seconds(51))
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let read: LogRead
    let decision: FollowerStep.Decision
    let position: LogPosition

    init(_ description: String, _ read: LogRead, _ decision: FollowerStep.Decision, _ position: LogPosition) {
      testDescription = description
      self.read = read
      self.decision = decision
      self.position = position
    }
  }

  /// The follower is at sequence 4 of term 3, and knows the schema `a`.
  private static let start = LogPosition.at(4, term: 3)
  private static let next = LogPosition.at(5, term: 3)
  private static let error = RecordError(sequence: 5, code: .invalidBody)
  private static let oldError = RecordError(sequence: 4, code: .invalidBody)

  private static func schema(_ name: String) -> LogRead {
    .record(LogRecord(sequence: 5, term: 3, gid: "g5", content: .schema(name)))
  }

  private static func doubt(term: UInt64) -> FollowerStep.Decision {
    .doubt(Doubt(sequence: 5, gid: "g5", alarm: .unexpectedTerm(term, sequence: 5)))
  }

  static let rows: [Row] = [
    Row("rows", .record(.rows(5, term: 3)), .apply([1]), next),
    Row("a noop", .record(.noop(5, term: 3)), .advance, next),
    Row("the next term", .record(.term(5, 4)), .follow(.test), .at(5, term: 4)),
    Row("a known schema", schema("a"), .migrate("a"), next),
    Row("an unknown schema", schema("b"), .stop(.unknownSchema("b", sequence: 5)), start),
    Row("rows of a lower term", .record(.rows(5, term: 2)), .skip, next),
    Row("a lower term", .record(.term(5, 2)), .skip, next),
    Row("rows of a term that has not begun", .record(.rows(5, term: 4)), doubt(term: 4), start),
    Row("the same term again", .record(.term(5, 3)), doubt(term: 3), start),
    Row("a term too far", .record(.term(5, 5)), doubt(term: 5), start),
    Row("a repeated record", .record(.rows(4, term: 3)), .ignore, start),
    Row("an old record", .record(.rows(1)), .ignore, start),
    Row("a gap", .record(.rows(6, term: 3)), .loadSnapshot, start),
    Row("no record", .missing, .loadSnapshot, start),
    Row("an invalid record", .invalid(error), .stop(.invalidRecord(error)), start),
    Row("a repeated invalid record", .invalid(oldError), .ignore, start),
  ]

  @Test(arguments: rows) func `a record leads to the decision`(_ row: Row) {
    var step = FollowerStep(position: Self.start, schemas: ["a"])
    #expect(step.received(row.read) == row.decision)
    #expect(step.position == row.position)
  }

  @Test func `a term record names the leader`() {
    var step = FollowerStep(position: Self.start)
    #expect(step.leader == nil)
    _ = step.received(.record(.term(5, 4)))
    #expect(step.leader == .test)
  }

  @Test(
    arguments: [
      (4, .of(1, 9), .record(.rows(4, term: 3)), .advance),
      (4, .of(4, 4), .record(.rows(4, term: 3)), .advance),
      // The record at the file's position is truncated.
      (4, .of(5, 9), .missing, .advance),
      (4, .of(6, 9), .missing, .loadSnapshot),
      (4, .of(1, 3), .missing, .wait),
      (4, .of(1, 9), .record(.rows(4, term: 4, gid: "x")), .diverged(term: 4)),
      // A term that was lost with the log's tail may begin again.
      (4, .of(1, 9), .record(.rows(4, term: 3, gid: "x")), .diverged(term: 3)),
      (4, .of(1, 9, generation: 8), nil, .stop(.recreated(.at(4, term: 3), .of(1, 9, generation: 8)))),
      (4, .of(1, 9, generation: 8), .missing, .stop(.recreated(.at(4, term: 3), .of(1, 9, generation: 8)))),
      (
        4, .of(1, 9, generation: 8), .record(.rows(4, term: 3, gid: "x")),
        .stop(.recreated(.at(4, term: 3), .of(1, 9, generation: 8)))
      ),
      // NATS reports another time of creation of the same log.
      (4, .of(1, 9, generation: 8), .record(.rows(4, term: 3)), .advance),
      (4, .of(1, 3, generation: 8), .missing, .wait),
      (4, .of(1, 0, generation: 0), nil, .wait),
    ] as [(UInt64, LogState, LogRead?, FollowerStep.Decision)])
  func `the file is compared with the log`(
    _ sequence: UInt64, _ state: LogState, _ newest: LogRead?, _ decision: FollowerStep.Decision
  ) {
    var step = FollowerStep(position: .at(sequence, term: 3))
    #expect(step.check(state, newest: newest) == decision)
    if decision == .advance { #expect(step.position.generation == (newest == .missing ? 7 : state.generation)) }
  }

  @Test(
    arguments: [
      // The nodes ask for other leaders, but not for a server that does not know the log.
      (.of(1, 3), [.wait] + Array(repeating: .elect, count: 38), .raise(.lostTail(.at(4), .of(1, 3)), elects: true)),
      (
        .of(1, 0, generation: 0), Array(repeating: .wait, count: 9),
        .stop(.recreated(.at(4), .of(1, 0, generation: 0)))
      ),
    ] as [(LogState, [FollowerStep.Decision], FollowerStep.Decision)])
  func `a log that lacks records for a long time is an alarm`(
    _ state: LogState, _ expected: [FollowerStep.Decision], _ alarm: FollowerStep.Decision
  ) {
    var step = FollowerStep(position: .at(4))
    for decision in expected { #expect(step.check(state, newest: nil) == decision) }
    var other = step
    #expect(step.check(state, newest: nil) == alarm)
    #expect(other.check(.of(1, 4), newest: .record(.rows(4))) == .advance)
    // Only answers in a row count: the servers may restart often.
    for decision in expected { #expect(other.check(state, newest: nil) == decision) }
    #expect(other.check(state, newest: nil) == alarm)
  }

  @Test func `a server that does not know the log begins the count again`() {
    var step = FollowerStep(position: .at(4))
    for _ in 1...39 { _ = step.check(.of(1, 3), newest: .missing) }
    for _ in 1...9 { #expect(step.check(.of(1, 0, generation: 0), newest: nil) == .wait) }
    #expect(step.check(.of(1, 3), newest: .missing) == .wait)
  }

  @Test(
    arguments: [
      (.of(1, 4), .record(.rows(4)), .advance),
      (.of(5, 9), .missing, .raise(.lostTail(.at(4), .of(1, 3)), elects: false)),
      (.of(1, 2), .missing, .raise(.lostTail(.at(4), .of(1, 3)), elects: true)),
      // Another node has continued. The operator may prefer this file.
      (.of(1, 9), .record(.rows(4, gid: "x")), .raise(.lostTail(.at(4), .of(1, 3)), elects: false)),
    ] as [(LogState, LogRead, FollowerStep.Decision)])
  func `the alarm ends if the log has the record of the position again`(
    _ state: LogState, _ newest: LogRead, _ decision: FollowerStep.Decision
  ) {
    var step = FollowerStep(position: .at(4))
    for _ in 1...40 { _ = step.check(.of(1, 3), newest: .missing) }
    #expect(step.check(state, newest: newest) == decision)
    if decision == .advance { #expect(step.check(.of(1, 3), newest: .missing) == .wait) }
  }

  @Test(
    arguments: [(.of(1, 0), .advance), (.of(1, 9), .advance), (.of(2, 9), .loadSnapshot)]
      as [(LogState, FollowerStep.Decision)])
  func `an empty file takes the log's generation`(_ state: LogState, _ decision: FollowerStep.Decision) {
    var step = FollowerStep(position: LogPosition())
    #expect(step.check(state, newest: nil) == decision)
    #expect(step.position == LogPosition(generation: 7))
  }

  @Test(
    arguments: [
      (.record(.rows(5, term: 4)), .stop(.unexpectedTerm(4, sequence: 5))),
      (.record(.term(5, 4, gid: "other")), .readAgain), (.missing, .readAgain),
      (.invalid(RecordError(sequence: 5, code: .invalidBody)), .readAgain),
    ] as [(LogRead, Doubt.Decision)])
  func `a doubtful record is compared with the log`(_ found: LogRead, _ decision: Doubt.Decision) {
    let doubt = Doubt(sequence: 5, gid: "g5", alarm: .unexpectedTerm(4, sequence: 5))
    #expect(doubt.decide(found) == decision)
  }

  @Test func `a second conflict at the same record stops the node`() {
    #expect(FollowerStep.conflicted(at: 5, earlier: nil) == .loadSnapshot)
    #expect(FollowerStep.conflicted(at: 5, earlier: 3) == .loadSnapshot)
    #expect(FollowerStep.conflicted(at: 5, earlier: 5) == .stop(.conflict(5)))
  }
}

@Suite struct DistrustedSequencesTests {
  @Test func `records that a reader delivered wrongly are read from the log`() throws {
    let log = TestLog()
    log.change { log in for sequence in 1...3 as ClosedRange<UInt64> { _ = log.model.store(.rows(sequence)) } }
    var distrusted = DistrustedSequences()
    distrusted.insert(2)
    var reads: [LogRead] = [.record(.rows(1, gid: "a")), .record(.rows(2, gid: "b")), .missing]
    try distrusted.correct(&reads, from: log)
    #expect(reads == [.record(.rows(1, gid: "a")), .record(.rows(2)), .missing])
  }

  @Test func `the oldest sequences are forgotten`() throws {
    let log = TestLog()
    log.change { log in for sequence in 1...3 as ClosedRange<UInt64> { _ = log.model.store(.rows(sequence)) } }
    var distrusted = DistrustedSequences()
    for sequence in 1...UInt64(DistrustedSequences.maxCount + 1) { distrusted.insert(sequence) }
    var reads: [LogRead] = [.record(.rows(1, gid: "a")), .record(.rows(2, gid: "b"))]
    try distrusted.correct(&reads, from: log)
    #expect(reads == [.record(.rows(1, gid: "a")), .record(.rows(2))])
  }
}

@Suite struct FollowerBatchTests {
  private var step = FollowerStep(position: .at(0), schemas: ["a"])

  private func reads(_ records: LogRecord...) -> [LogRead] { records.map { .record($0) } }

  @Test mutating func `records become one transaction`() {
    let records = reads(
      .noop(1), .rows(2), .rows(2), .noop(3), .term(4, 2), .rows(5), .rows(6, term: 2))
    let batch = FollowerBatch(records, &step)
    #expect(batch.rows.map(\.sequence) == [2, 6])
    #expect(batch.position == .at(6, term: 2))
    #expect(batch.leader == .test)
    #expect(batch.skipped == 1)
    #expect(batch.next == .read)
    #expect(batch.used == 7)
  }

  @Test mutating func `a migration ends the transaction before it`() {
    let batch = FollowerBatch(reads(.rows(1), .schema(2, "a"), .rows(3)), &step)
    #expect(batch.position == .at(1))
    #expect(batch.next == .migrate("a", .at(2)))
    #expect(batch.used == 2)
    let rest = FollowerBatch(reads(.rows(3)), &step)
    #expect(rest.position == .at(3))
  }

  @Test mutating func `a stop keeps the records before it`() {
    let batch = FollowerBatch(reads(.rows(1), .schema(2, "b"), .rows(3)), &step)
    #expect(batch.position == .at(1))
    #expect(batch.next == .stop(.unknownSchema("b", sequence: 2)))
  }

  @Test mutating func `a doubt keeps the records before it`() {
    let batch = FollowerBatch(reads(.rows(1), .rows(2, term: 4), .rows(3)), &step)
    #expect(batch.position == .at(1))
    #expect(batch.next == .doubt(Doubt(sequence: 2, gid: "g2", alarm: .unexpectedTerm(4, sequence: 2))))
  }

  @Test mutating func `a batch without new records needs no transaction`() {
    let none = FollowerBatch([], &step)
    #expect(none.position == nil)
    let batch = FollowerBatch(reads(.rows(7)), &step)
    #expect(batch.position == nil)
    #expect(batch.next == .loadSnapshot)
  }

  @Test mutating func `a batch has limits`() {
    let many = (1...250 as ClosedRange<UInt64>).map { LogRead.record(.rows($0)) }
    let batch = FollowerBatch(many, &step)
    #expect(batch.used == FollowerBatch.maxRecords)
    let rest = FollowerBatch(many[batch.used...], &step)
    #expect(rest.position == .at(250))
    let body = [UInt8](repeating: 1, count: LogRecord.maxBody)
    let large = (251...260 as ClosedRange<UInt64>).map { LogRead.record(.rows($0, body)) }
    let first = FollowerBatch(large, &step)
    #expect(first.used == 5)
  }
}
