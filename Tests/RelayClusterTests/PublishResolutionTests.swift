// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@Suite struct PublishResolutionTests {
  enum Answer: Sendable {
    case outcome(PublishOutcome)
    case read(LogRead?)
    case state(LogState?)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let answers: [Answer]
    let action: PublishResolution.Action

    init(_ description: String, _ answers: [Answer], _ action: PublishResolution.Action) {
      testDescription = description
      self.answers = answers
      self.action = action
    }
  }

  /// The record of the tests, at sequence 5.
  private static let own = LogRecord.rows(5)
  private static let other = LogRecord.term(5, 2).with(gid: "other")
  private static let foreign = LogRecord.rows(5, gid: "other")
  private static let unknown = Answer.outcome(.unknown(reason: "timeout"))
  private static let rejected = Answer.outcome(.rejected)
  private static let previous = Answer.read(.record(.rows(4)))
  private static let error = RecordError(sequence: 5, code: .missingHeader, header: .term)

  private static func short(_ count: Int, _ state: LogState) -> [Answer] {
    Array(repeating: .state(state), count: count)
  }

  static let rows: [Row] = [
    Row("stored", [.outcome(.stored(5))], .decide(.stored)),
    Row("stored elsewhere", [.outcome(.stored(6))], .decide(.stop(.misplaced(expected: 5, stored: 6)))),
    Row("rejected: read", [rejected], .read(5, after: .zero)),
    Row("rejected, and another node's record", [rejected, .read(.record(foreign))], .decide(.lost)),
    Row("rejected, and another node's term", [rejected, .read(.record(other))], .decide(.lost)),
    Row("rejected, and ours", [rejected, .read(.record(own))], .decide(.stored)),
    Row("rejected, and invalid", [rejected, .read(.invalid(error))], .decide(.stop(.invalidRecord(error)))),
    Row("rejected, and no answer to the read: again", [rejected, .read(nil)], .read(5, after: .milliseconds(20))),
    Row("unknown: read the previous record", [unknown], .read(4, after: .milliseconds(20))),
    Row(
      "unknown, and the previous record is in place: publish again", [unknown, previous], .publish(own, after: .zero)),
    Row("the pause doubles", [unknown, previous, unknown, previous, unknown], .read(4, after: .milliseconds(80))),
    Row(
      "the pause has a limit", Array(repeating: [unknown, previous], count: 9).flatMap(\.self) + [unknown],
      .read(4, after: .milliseconds(640))),
    Row("unknown, then stored", [unknown, previous, .outcome(.stored(5))], .decide(.stored)),
    Row("unknown, then rejected: read", [unknown, previous, rejected], .read(5, after: .zero)),
    Row("unknown, then rejected, and ours", [unknown, previous, rejected, .read(.record(own))], .decide(.stored)),
    Row(
      "unknown, and another previous record", [unknown, .read(.record(.rows(4, term: 1, gid: "x")))],
      .decide(.stop(.diverged(.at(4), term: 1)))),
    Row("unknown, and no previous record: inspect", [unknown, .read(.missing)], .inspect(after: .zero)),
    Row(
      "unknown, and the log is shorter: inspect again", [unknown, .read(.missing), .state(.of(1, 3))],
      .inspect(after: .milliseconds(500))),
    Row(
      "unknown, and the log stays shorter", [unknown, .read(.missing)] + short(40, .of(1, 3)),
      .decide(.stop(.lostTail(.at(4), .of(1, 3))))),
    Row(
      "the log was shorter for a moment: read the previous record",
      [unknown, .read(.missing)] + short(39, .of(1, 3)) + [.state(.of(1, 4))], .read(4, after: .milliseconds(40))),
    Row(
      "unknown, and the previous record is truncated: publish again", [unknown, .read(.missing), .state(.of(5, 4))],
      .publish(own, after: .milliseconds(40))),
    Row(
      "unknown, truncated, and a new record: read ours", [unknown, .read(.missing), .state(.of(5, 5))],
      .read(5, after: .milliseconds(40))),
    Row("rejected, and no record: inspect", [rejected, .read(.missing)], .inspect(after: .zero)),
    Row(
      "no answer to the inspection: again", [rejected, .read(.missing), .state(nil)], .inspect(after: .milliseconds(20))
    ),
    Row(
      "the log was created again", [rejected, .read(.missing)] + short(10, .of(1, 0, generation: 8)),
      .decide(.stop(.recreated(.at(4), .of(1, 0, generation: 8))))),
    Row(
      "the log has another time of creation: read the previous record",
      [rejected, .read(.missing), .state(.of(1, 4, generation: 8))], .read(4, after: .zero)),
    Row(
      "it is the same log: publish again",
      [rejected, .read(.missing), .state(.of(1, 4, generation: 8)), .read(.record(.rows(4)))],
      .publish(own, after: .zero)),
    Row(
      "it is the same log, and the record is stored later",
      [
        rejected, .read(.missing), .state(.of(1, 4, generation: 8)), .read(.record(.rows(4))), rejected,
        .read(.missing), .state(.of(1, 4, generation: 8)),
      ], .read(4, after: .milliseconds(20))),
    Row(
      "it is another log",
      [rejected, .read(.missing), .state(.of(1, 4, generation: 8)), .read(.record(.rows(4, gid: "x")))],
      .decide(.stop(.recreated(.at(4), .of(1, 4, generation: 8))))),
    Row(
      "it is another log, which has removed the previous record",
      [rejected, .read(.missing), .state(.of(1, 4, generation: 8)), .read(.missing), .state(.of(5, 4, generation: 8))],
      .decide(.stop(.recreated(.at(4), .of(5, 4, generation: 8))))),
    Row(
      "the log was deleted", [rejected, .read(.missing)] + short(10, .of(1, 0, generation: 0)),
      .decide(.stop(.recreated(.at(4), .of(1, 0, generation: 0))))),
    Row(
      "the log has lost its tail", [rejected, .read(.missing)] + short(40, .of(1, 2)),
      .decide(.stop(.lostTail(.at(4), .of(1, 2))))),
    Row(
      "the log has no record now: read the previous one", [rejected, .read(.missing), .state(.of(1, 4))],
      .read(4, after: .milliseconds(20))),
    Row(
      "the log has no record now: publish again", [rejected, .read(.missing), .state(.of(1, 4)), previous],
      .publish(own, after: .zero)),
    Row(
      "the log has a record since: read", [rejected, .read(.missing), .state(.of(1, 5))],
      .read(5, after: .milliseconds(20))),
    Row(
      "the only attempt is rejected, and the log is truncated", [rejected, .read(.missing), .state(.of(6, 9))],
      .decide(.lost)),
    Row(
      "one of two attempts is rejected, and the log is truncated",
      [unknown, previous, rejected, .read(.missing), .state(.of(6, 9))], .decide(.removed)),
  ]

  @Test(arguments: rows) func `the answers lead to the action`(_ row: Row) {
    var resolution = PublishResolution(Self.own, after: .at(4))
    var action = resolution.begin(isConnected: true)
    #expect(action == .publish(Self.own, after: .zero))
    for answer in row.answers {
      switch answer {
      case .outcome(let outcome): action = resolution.published(outcome)
      case .read(let read): action = resolution.found(read)
      case .state(let state): action = resolution.inspected(state)
      }
    }
    #expect(action == row.action)
  }

  @Test func `after a reconnect the previous record is read first`() {
    var resolution = PublishResolution(Self.own, after: .at(4))
    #expect(resolution.begin(isConnected: false) == .read(4, after: .zero))
    #expect(resolution.found(nil) == .read(4, after: .milliseconds(20)))
    #expect(resolution.found(.record(.rows(4))) == .publish(Self.own, after: .zero))
    #expect(resolution.published(.stored(5)) == .decide(.stored))
    #expect(resolution.isFirstAttempt)
  }

  @Test func `the first record of a log has no previous one`() {
    var resolution = PublishResolution(.term(1, 1), after: .at(0, term: 0))
    #expect(resolution.begin(isConnected: false) == .publish(.term(1, 1), after: .zero))
    #expect(resolution.published(.unknown(reason: "timeout")) == .publish(.term(1, 1), after: .milliseconds(20)))
    #expect(resolution.published(.stored(1)) == .decide(.stored))
    #expect(!resolution.isFirstAttempt)
  }
}
