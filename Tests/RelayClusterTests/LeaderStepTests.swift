// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Synchronization
import Testing

@Suite struct LeaderStepTests {
  private var leader = LeaderStep(position: .at(4))

  private mutating func begin() {
    #expect(leader.begin(.rows([1]), gid: "g5") == .publish(.rows(5), after: .zero))
    #expect(!leader.isIdle)
  }

  @Test mutating func `a stored group is committed, and the next one follows it`() {
    begin()
    #expect(leader.published(.stored(5)) == .commit(.at(5)))
    // Nothing else may begin before the commit.
    #expect(!leader.isIdle)
    #expect(leader.position == .at(4))
    leader.committed()
    #expect(leader.isIdle)
    #expect(leader.position == .at(5))
    #expect(leader.provesLeadership)
    #expect(leader.begin(.noop, gid: "g6") == .publish(.noop(6), after: .zero))
  }

  @Test mutating func `a group with an unknown outcome is published again with the same id and expectation`() {
    begin()
    for pause in [20, 40, 80] {
      #expect(leader.published(.unknown(reason: "timeout")) == .read(4, after: .milliseconds(pause)))
      #expect(leader.found(.record(.rows(4))) == .publish(.rows(5), after: .zero))
    }
    #expect(leader.published(.rejected) == .read(5, after: .zero))
    #expect(leader.found(.record(.rows(5))) == .commit(.at(5)))
    leader.committed()
    // Another node may lead since the first attempt.
    #expect(!leader.provesLeadership)
  }

  @Test mutating func `another node's record ends the leadership`() {
    begin()
    #expect(leader.published(.rejected) == .read(5, after: .zero))
    #expect(leader.found(.record(.term(5, 2).with(gid: "x"))) == .rollBack(.deposed))
    #expect(leader.hasEnded)
    #expect(!leader.isIdle)
  }

  @Test mutating func `a group whose record is truncated has an unknown result`() {
    begin()
    _ = leader.published(.unknown(reason: "timeout"))
    _ = leader.found(.record(.rows(4)))
    _ = leader.published(.rejected)
    #expect(leader.found(.missing) == .inspect(after: .zero))
    #expect(leader.inspected(.of(8, 9)) == .rollBack(.unknown))
    #expect(leader.hasEnded)
  }

  @Test mutating func `a failed commit ends the leadership, and the log keeps the group`() {
    begin()
    _ = leader.published(.stored(5))
    #expect(leader.commitFailed() == .reopen)
    #expect(leader.hasEnded)
    #expect(leader.position == .at(4))
  }

  @Test mutating func `after a lost connection, the next group checks the previous record once`() {
    leader.disconnected()
    #expect(leader.begin(.rows([1]), gid: "g5") == .read(4, after: .zero))
    #expect(leader.found(.record(.rows(4))) == .publish(.rows(5), after: .zero))
    _ = leader.published(.stored(5))
    leader.committed()
    #expect(leader.begin(.rows([1]), gid: "g6") == .publish(.rows(6), after: .zero))
  }

  @Test mutating func `an alarm ends the leadership`() {
    leader.disconnected()
    _ = leader.begin(.rows([1]), gid: "g5")
    #expect(leader.found(.record(.rows(4, term: 3, gid: "x"))) == .stop(.diverged(.at(4), term: 3)))
    #expect(leader.hasEnded)
  }

  @Test func `a second publish in flight ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var leader = LeaderStep(position: LogPosition(generation: 1, term: 1))
      _ = leader.begin(.noop, gid: "a")
      _ = leader.begin(.noop, gid: "b")
    }
  }

  @Test func `a commit without the log's answer ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var leader = LeaderStep(position: LogPosition(generation: 1, term: 1))
      _ = leader.begin(.noop, gid: "a")
      leader.committed()
    }
  }
}

@Suite struct LeaderOnLogTests {
  /// A log that gives these answers, and records what was requested.
  final class ScriptedLog: ReplicatedLog {
    private let script: Mutex<(outcomes: [PublishOutcome], requests: [String])>

    init(_ outcomes: [PublishOutcome]) { script = Mutex((outcomes, [])) }

    var requests: [String] { script.withLock { $0.requests } }

    func publish(_ record: LogRecord) -> PublishOutcome {
      script.withLock { script in
        script.requests.append("publish \(record.gid) at \(record.sequence)")
        return script.outcomes.removeFirst()
      }
    }

    func read(_ sequence: UInt64) throws(LogUnavailable) -> LogRead {
      script.withLock { $0.requests.append("read \(sequence)") }
      return .record(.rows(sequence))
    }

    func state() throws(LogUnavailable) -> LogState { throw LogUnavailable("not in the script") }
    func follow(after sequence: UInt64) throws(LogUnavailable) -> any LogReader {
      throw LogUnavailable("not in the script")
    }
    func truncate(below sequence: UInt64) throws(LogUnavailable) {}
    func electAnotherServer() {}
  }

  @Test func `a group is published until the log decides it`() {
    let log = ScriptedLog([.unknown(reason: "timeout"), .unknown(reason: "timeout"), .rejected])
    var leader = LeaderStep(position: .at(4))
    var pauses: [Duration] = []
    var reasons: [String] = []
    let action = leader.decide(.rows([1]), gid: "g5", time: .zero, on: log) { pause in
      pauses.append(pause)
      return true
    } onUnknown: {
      reasons.append($0)
    }
    #expect(action == .commit(.at(5)))
    #expect(reasons == ["timeout", "timeout"])
    #expect(pauses == [.milliseconds(20), .milliseconds(40)])
    #expect(
      log.requests == [
        "publish g5 at 5", "read 4", "publish g5 at 5", "read 4", "publish g5 at 5", "read 5",
      ])
  }

  @Test func `a shutdown ends the attempts`() {
    let log = ScriptedLog([.unknown(reason: "timeout")])
    var leader = LeaderStep(position: .at(4))
    let action = leader.decide(.rows([1]), gid: "g5", time: .zero, on: log) { _ in false }
    #expect(action == nil)
    #expect(log.requests == ["publish g5 at 5"])
  }
}

extension LogRecord {
  func with(gid: String) -> LogRecord { LogRecord(sequence: sequence, term: term, gid: gid, content: content) }
}
