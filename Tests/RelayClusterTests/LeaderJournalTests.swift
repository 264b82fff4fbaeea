// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Synchronization
import Testing

@Suite struct LeaderJournalTests {
  private let log = TestLog()
  private let clock = TestClock()
  private let board = NodeStatusBoard()
  private let events = TestCluster.EventList()
  private let ends = Ends()

  private final class Ends: Sendable {
    let all = Mutex<[LeaderEnd]>([])
  }

  /// A leader of term 1, whose record 1 began the term.
  private func journal() -> LeaderJournal {
    log.change { log in
      log.generation = 7
      _ = log.model.store(.term(1, 1))
    }
    return LeaderJournal(
      .test, at: .at(1), keys: KeyClock(after: .seconds(500), at: clock.now), log: log, clock: clock, board: board,
      onEvent: { [events] in events.append($0) },
      onEnd: { [ends] end in ends.all.withLock { $0.append(end) } })
  }

  private var recorded: [LeaderEnd] { ends.all.withLock { $0 } }

  /// Another node takes over.
  private func depose() { log.change { _ = $0.model.store(.term($0.model.last + 1, 2)) } }

  @Test func `a group is decided, committed, and followed by the next one`() {
    let journal = journal()
    for sequence in UInt64(2)...4 {
      guard case .commit(let position) = journal.decide([1]) else { return #expect(Bool(false)) }
      #expect(position.sequence == sequence)
      #expect(journal.position.sequence == sequence - 1)
      journal.committed()
      #expect(journal.position.sequence == sequence)
    }
    #expect(board.current.position.sequence == 4)
  }

  @Test func `a deposed leader commits nothing and answers nobody`() {
    let journal = journal()
    depose()
    #expect(journal.decide([1]) == .end(.deposed))
    #expect(journal.decide([1]) == .end(.deposed))
    #expect(!journal.waitForProof())
    #expect(!journal.publishNoopIfDue())
    #expect(recorded == [.deposed])
    #expect(board.current.rejected == 1)
    journal.pulse()
    #expect(log.change { $0.heartbeats.isEmpty })
  }

  @Test func `a leader that leaves says so in its last heartbeat`() {
    for end in [LeaderEnd.steppedDown, .shutDown, .commitFailed] {
      log.change { $0 = TestLog.Contents() }
      let journal = journal()
      journal.pulse()
      switch end {
      case .steppedDown: journal.stepDown()
      case .shutDown: journal.close()
      default:
        _ = journal.decide([1])
        journal.commitFailed()
      }
      journal.pulse()
      #expect(log.change { $0.heartbeats.map(\.isLeaving) } == [false, true])
      #expect(recorded.last == end)
    }
  }

  @Test func `a group with an unknown outcome waits until the log is back`() {
    let journal = journal()
    log.change { $0.isDown = true }
    clock.onWait { [log] elapsed in if elapsed > .seconds(30) { log.change { $0.isDown = false } } }
    guard case .commit(let position) = journal.decide([1]) else { return #expect(Bool(false)) }
    #expect(position.sequence == 2)
    #expect(clock.elapsed > .seconds(30))
    journal.committed()
    #expect(log.change { $0.model.last } == 2)
    // One line at the begin of the outage, and one at its end.
    #expect(events.all.contains(.publishUnknown(reason: "the servers are down")))
    #expect(events.all.count { $0 == .publishDecided } == 1)
    #expect(events.all.count == 2)
  }

  @Test func `a group that the log stored without an answer is stored once`() {
    let journal = journal()
    log.change { $0.unanswered = 1 }
    guard case .commit = journal.decide([1]) else { return #expect(Bool(false)) }
    journal.committed()
    #expect(log.change { $0.model.last } == 2)
    #expect(board.current.unknown == 1)
  }

  @Test func `a group whose record was removed before its outcome is known ends the leadership`() {
    let journal = journal()
    log.change { $0.lost = [.unknown(reason: "timeout")] }
    clock.onWait { [log] _ in
      log.change { log in
        guard log.model.last < 5 else { return }
        for sequence in log.model.last + 1...5 { _ = log.model.store(.noop(sequence)) }
        log.model.truncate(below: 5)
      }
    }
    #expect(journal.decide([1]) == .end(.unknown))
    #expect(recorded == [.unknown])
  }

  @Test func `a failed commit ends the leadership`() {
    let journal = journal()
    guard case .commit = journal.decide([1]) else { return #expect(Bool(false)) }
    journal.commitFailed()
    #expect(recorded == [.commitFailed])
    #expect(journal.decide([1]) == .end(.commitFailed))
  }

  @Test func `an idle leader proves itself by noops`() {
    let journal = journal()
    #expect(journal.waitForProof())
    let first = log.change { $0.model.last }
    for _ in 0..<100 {
      journal.pulse()
      #expect(journal.publishNoopIfDue())
      clock.advance(.milliseconds(100))
    }
    let count = log.change { $0.model.last } - first
    // One each 300 ms: the first step of 100 ms after `idle`.
    #expect((33...34).contains(count))
    #expect(log.change { $0.heartbeats.count } == 100)
    // A group moves past the noops.
    guard case .commit(let position) = journal.decide([1]) else { return #expect(Bool(false)) }
    #expect(position.sequence == first + count + 1)
  }

  @Test func `a pause needs a proof before the next answer`() {
    let journal = journal()
    #expect(journal.waitForProof())
    let before = log.change { $0.model.last }
    clock.advance(.milliseconds(400))
    #expect(journal.waitForProof())
    #expect(log.change { $0.model.last } == before)
    clock.advance(.milliseconds(600))
    // The thread of the heartbeats may see the pause first.
    journal.pulse()
    #expect(events.all.contains(.needsProof))
    #expect(journal.waitForProof())
    #expect(log.change { $0.model.last } == before + 1)
    clock.advance(.seconds(10))
    depose()
    #expect(!journal.waitForProof())
    #expect(recorded == [.deposed])
  }

  @Test func `a leader that the log does not confirm is held, and then ends`() {
    let journal = journal()
    #expect(journal.waitForProof())
    journal.serve {}
    // The clock goes on while the journal waits for the log.
    log.change { $0.isDown = true }
    var held: Duration?
    var ended: Duration?
    let begin = clock.elapsed
    while ended == nil, clock.elapsed - begin < .seconds(30) {
      clock.advance(.milliseconds(200))
      journal.pulse()
      switch journal.service {
      case .serves: #expect(held == nil)
      case .held: held = held ?? clock.elapsed - begin
      case .ended: ended = clock.elapsed - begin
      }
    }
    #expect(held == .milliseconds(800))
    #expect(ended == .milliseconds(800) + LeaderJournal.maxDoubt)
    #expect(recorded == [.unproved(reason: nil)])
    #expect(events.all.contains(.needsProof))
    #expect(journal.decide([1]) == .end(.unproved(reason: nil)))
  }

  @Test func `a proof lets a held leader serve again`() {
    let journal = journal()
    let changes = Ends()
    #expect(journal.waitForProof())
    journal.serve { changes.all.withLock { $0.append(.shutDown) } }
    clock.advance(.seconds(2))
    #expect(journal.service == .held)
    #expect(journal.publishNoopIfDue())
    #expect(journal.service == .serves)
    // One call at the beginning, and one at the proof.
    #expect(changes.all.withLock { $0.count } == 2)
  }

  @Test func `the service of a deposed leader ends before its group fails`() {
    let journal = journal()
    let services = Mutex<[LeaderJournal.Service]>([])
    #expect(journal.waitForProof())
    journal.serve { services.withLock { $0.append(journal.service) } }
    depose()
    #expect(journal.decide([1]) == .end(.deposed))
    #expect(services.withLock { $0 } == [.serves, .ended])
  }

  @Test func `an answer to a repetition proves nothing, so a noop follows`() {
    let journal = journal()
    #expect(journal.waitForProof())
    clock.advance(.milliseconds(400))
    journal.pulse()
    clock.advance(.milliseconds(400))
    log.change { $0.unanswered = 1 }
    guard case .commit = journal.decide([1]) else { return #expect(Bool(false)) }
    journal.committed()
    let last = log.change { $0.model.last }
    clock.advance(.milliseconds(200))
    #expect(journal.publishNoopIfDue())
    #expect(log.change { $0.model.last } == last + 1)
  }

  @Test func `a noop does not begin while a group is in progress`() {
    let journal = journal()
    guard case .commit = journal.decide([1]) else { return #expect(Bool(false)) }
    clock.advance(.seconds(5))
    #expect(journal.publishNoopIfDue())
    #expect(log.change { $0.model.last } == 2)
    journal.committed()
    #expect(journal.publishNoopIfDue())
  }

  @Test func `a leader whose commit hangs sends no more heartbeats`() {
    let journal = journal()
    guard case .commit = journal.decide([1]) else { return #expect(Bool(false)) }
    clock.advance(.seconds(4))
    journal.pulse()
    #expect(log.change { $0.heartbeats.count } == 1)
    clock.advance(.seconds(1))
    journal.pulse()
    #expect(log.change { $0.heartbeats.count } == 1)
    journal.committed()
    journal.pulse()
    #expect(log.change { $0.heartbeats.count } == 2)
  }

  @Test func `each record has the time of the clock for keys`() {
    let journal = journal()
    for _ in 0..<3 {
      clock.advance(.milliseconds(1_500))
      _ = journal.decide([1])
      journal.committed()
    }
    clock.advance(.milliseconds(300))
    #expect(journal.publishNoopIfDue())
    #expect(log.change { $0.model.records.dropFirst().map(\.time.components.seconds) } == [501, 503, 504, 504])
    #expect(journal.keyTime == .milliseconds(504_800))
  }

  @Test func `a leader without a proof says so until it has one`() {
    let journal = journal()
    board.change { $0.role = .leader }
    journal.pulse()
    #expect(board.health(at: clock.now).obstacle == .unproved)
    #expect(board.health(at: clock.now).lag == nil)
    #expect(journal.waitForProof())
    #expect(board.health(at: clock.now).obstacle == nil)
    #expect(board.health(at: clock.now).lag == 0)
    clock.advance(.seconds(3))
    journal.pulse()
    clock.advance(.seconds(2))
    #expect(board.health(at: clock.now).unproved == .seconds(2))
    #expect(journal.publishNoopIfDue())
    journal.pulse()
    #expect(board.health(at: clock.now).unproved == .zero)
  }

  @Test func `a leader steps down between two groups`() {
    let journal = journal()
    journal.stepDown()
    journal.stepDown()
    #expect(journal.decide([1]) == .end(.steppedDown))
    #expect(recorded == [.steppedDown])
  }
}
