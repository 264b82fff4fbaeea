// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Synchronization

/// Nodes with the drivers of RelayCluster, which share a log and a clock. One thread runs all of them.
final class TestCluster {
  /// A process of a node, and its folder.
  final class Process {
    let leader: Leader
    let folder: TestFolder
    let board = NodeStatusBoard()
    let inbox = NodeInbox()
    let events = EventList()
    let transfer: SnapshotTransfer
    let clock: OffsetClock
    var node: ClusterNode?
    var journal: LeaderJournal?
    var alarm: Alarm?
    /// A stopped process, which still has its state.
    var isPaused = false

    init(
      _ leader: Leader, _ folder: TestFolder, _ log: TestLog, _ clock: OffsetClock, isReluctant: Bool = false,
      isDamaged: Bool = false
    ) {
      self.leader = leader
      self.folder = folder
      self.clock = clock
      transfer = SnapshotTransfer(leader, log: log, folder: folder, clock: clock) { TestDigest() }
      let events = events
      node = ClusterNode(
        transfer, board: board, inbox: inbox, isReluctant: isReluctant, isDamaged: isDamaged
      ) { events.append($0) }
    }
  }

  final class EventList: Sendable {
    private let list = Mutex<[NodeEvent]>([])
    func append(_ event: NodeEvent) { list.withLock { $0.append(event) } }
    var all: [NodeEvent] { list.withLock { $0 } }
  }

  let log = TestLog()
  let clock = TestClock()
  private(set) var processes: [Process] = []
  private var heartbeat: [ObjectIdentifier: Duration] = [:]
  private var nextNotices = Duration.zero

  init(nodes count: Int) { for _ in 0..<count { add(TestFolder(secret: processes.count + 1)) } }

  @discardableResult
  func add(_ folder: TestFolder) -> Process {
    let index = processes.count
    guard let leader = Leader(name: "node\(index)", url: "http://node\(index)") else {
      preconditionFailure("the name is valid")
    }
    let process = Process(leader, folder, log, OffsetClock(clock))
    processes.append(process)
    return process
  }

  /// Ends a process without warning.
  func kill(_ process: Process) {
    process.node = nil
    process.journal = nil
    process.folder.closeAfterCrash()
  }

  /// Starts a new process in the folder of a killed one.
  @discardableResult
  func restart(_ process: Process, isReluctant: Bool = false, isDamaged: Bool = false) -> Process {
    guard let index = processes.firstIndex(where: { $0 === process }) else { preconditionFailure("unknown process") }
    kill(process)
    let new = Process(
      process.leader, process.folder, log, process.clock, isReluctant: isReluctant, isDamaged: isDamaged)
    processes[index] = new
    return new
  }

  /// Starts a process of the next version in the folder of this one.
  @discardableResult
  func upgrade(_ process: Process) -> Process {
    process.folder.upgrade()
    return restart(process)
  }

  /// The leader that the log knows.
  var leading: Process? { processes.first { $0.journal?.end == nil && $0.journal != nil && !$0.isPaused } }

  /// Runs the nodes until a condition is true. Returns false after `limit`.
  @discardableResult
  func run(for limit: Duration = .seconds(30), until condition: () -> Bool) -> Bool {
    let end = clock.elapsed + limit
    while clock.elapsed < end {
      if condition() { return true }
      for process in processes where !process.isPaused { turn(process) }
      deliver()
      clock.advance(.milliseconds(10))
    }
    return condition()
  }

  private func turn(_ process: Process) {
    if let journal = process.journal {
      // A deposed leader replaces its process.
      guard journal.end == nil else {
        restart(process, isReluctant: true)
        return
      }
      let id = ObjectIdentifier(process)
      if clock.elapsed - (heartbeat[id] ?? .seconds(-1)) >= Heartbeat.interval {
        heartbeat[id] = clock.elapsed
        journal.pulse()
      }
      _ = journal.publishNoopIfDue()
      return
    }
    guard let node = process.node, case .ended(let end) = node.turn() else { return }
    process.node = nil
    switch end {
    case .shutDown: break
    case .alarm(let alarm): process.alarm = alarm
    case .leads(let position, let keys, let file):
      let events = process.events
      let journal = LeaderJournal(
        process.leader, at: position, keys: keys, log: log, clock: process.clock, board: process.board,
        onEvent: { events.append($0) }, onEnd: { _ in })
      process.journal = journal
      guard ClusterNode.migrate(file, journal, onEvent: { events.append($0) }) else { return file.close() }
      _ = ClusterNode.publishFirstSnapshot(process.transfer, of: file, at: position, board: process.board) {
        events.append($0)
      }
      file.close()
    }
  }

  private func deliver() {
    let sent = log.change { log in
      defer { log.heartbeats = [] }
      return log.heartbeats
    }
    for heartbeat in sent {
      for process in processes where process.leader != heartbeat.leader && !process.isPaused {
        process.inbox.received(heartbeat, at: clock.now)
      }
    }
    guard clock.elapsed >= nextNotices else { return }
    nextNotices = clock.elapsed + ClockNotice.interval
    let running = processes.filter { ($0.node != nil || $0.journal != nil) && !$0.isPaused }
    for sender in running {
      let notice = ClockNotice(node: sender.leader.name, time: sender.clock.reading.timeOfDay)
      for receiver in running { receiver.inbox.received(notice, at: receiver.clock.reading) }
    }
  }

  /// The present state of a node for its operator.
  func health(of process: Process) -> NodeHealth { process.board.health(at: clock.now) }

  /// Commits a row at a node, as its writer does.
  @discardableResult
  func write(_ row: Int, at process: Process?) -> LeaderJournal.Decision? {
    guard let process, let journal = process.journal else { return nil }
    let decision = journal.decide(Array("\(row)".utf8))
    guard case .commit(let position) = decision else { return decision }
    process.folder.change { file in
      file.rows.insert(row)
      file.position = position
    }
    journal.committed()
    return decision
  }

  /// Runs until all running followers have the rows.
  func waitForRows(_ rows: Set<Int>) -> Bool {
    run { processes.allSatisfy { ($0.node == nil && $0.journal == nil) || $0.folder.current.rows == rows } }
  }
}
