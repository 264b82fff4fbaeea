// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import SeededRandom
import Synchronization
import Testing

/// The drivers of several nodes under random faults.
@Suite struct ClusterFaultTests {
  private final class Run {
    let cluster = TestCluster(nodes: 3)
    var random: SeededGenerator
    var acknowledged: Set<Int> = []
    var counts: [String: Int] = [:]
    private var nextRow = 1
    private var down: [(process: TestCluster.Process, until: Duration)] = []
    private let outageEnd = Mutex(Duration.zero)

    init(seed: Int) {
      random = SeededGenerator(seed: seed)
      let (log, run) = (cluster.log, Unowned(self))
      // A writer that waits for the log waits until the outage ends.
      cluster.clock.onWait { elapsed in
        run.object.outageEnd.withLock { end in if elapsed >= end { log.change { $0.isDown = false } } }
      }
    }

    /// Safe: one thread runs the test.
    private struct Unowned: @unchecked Sendable {
      unowned let object: Run
      init(_ object: Run) { self.object = object }
    }

    func step() {
      fault()
      for (process, until) in down where cluster.clock.elapsed >= until {
        if process.isPaused { process.isPaused = false } else { cluster.restart(process) }
      }
      down.removeAll { cluster.clock.elapsed >= $0.until }
      // A leader that goes on after a pause may write before its next noop.
      write()
      cluster.run(for: .milliseconds(50)) { false }
      if cluster.clock.elapsed >= outageEnd.withLock({ $0 }) { cluster.log.change { $0.isDown = false } }
      write()
    }

    /// A client sends a row to any node that believes that it leads.
    private func write() {
      let leaders = cluster.processes.filter { $0.journal != nil && $0.journal?.end == nil && !$0.isPaused }
      guard let process = leaders.randomElement(using: &random) else { return }
      let row = nextRow
      nextRow += 1
      switch random.below(30) {
      case 0:
        // The leader dies before its COMMIT.
        count("kill before commit")
        _ = process.journal?.decide(Array("\(row)".utf8))
        cluster.kill(process)
        down.append((process, cluster.clock.elapsed + .seconds(2)))
      case 1:
        guard case .commit = process.journal?.decide(Array("\(row)".utf8)) else { return }
        count("failed commit")
        process.journal?.commitFailed()
      default:
        guard case .commit = cluster.write(row, at: process) else { return count("refused") }
        acknowledged.insert(row)
      }
    }

    private func count(_ event: String) { counts[event, default: 0] += 1 }

    private func fault() {
      let process = cluster.processes[random.below(3)]
      let isBusy = down.contains { $0.process === process }
      let time = cluster.clock.elapsed + .milliseconds(random.below(3_000))
      switch random.below(100) {
      case 0..<3 where !isBusy:
        count("kill")
        cluster.kill(process)
        down.append((process, time))
      case 3..<6 where !isBusy:
        count("pause")
        process.isPaused = true
        down.append((process, time))
      case 6..<8:
        count("outage")
        cluster.log.change { $0.isDown = true }
        outageEnd.withLock { $0 = time }
        for process in cluster.processes {
          process.inbox.disconnected()
          process.journal?.disconnected()
        }
      case 8..<14: cluster.log.change { $0.unanswered = 1 }
      case 14..<20: cluster.log.change { $0.lost = [.unknown(reason: "timeout")] }
      case 20..<24:
        count("snapshot")
        if process.folder.current.position != nil { _ = try? process.transfer.publish() }
      case 26 where !isBusy && process.journal?.end == nil:
        // The leader dies while it publishes, and one server keeps the record alone.
        guard let position = process.journal?.position, cluster.log.change({ $0.model.last }) == position.sequence
        else { return }
        count("stray record")
        let stray = LogRecord(
          sequence: position.sequence + 1, term: position.term, gid: "stray\(nextRow)",
          content: .rows(Array("\(nextRow)".utf8)))
        nextRow += 1
        cluster.log.change { $0.strays[stray.sequence] = stray }
        cluster.kill(process)
        down.append((process, time))
        for process in cluster.processes { process.inbox.disconnected() }
      case 24..<26 where !isBusy && process.journal == nil && cluster.leading != nil:
        // The disk of a follower is lost.
        count("wipe")
        cluster.kill(process)
        process.folder.change { $0 = TestContents(secret: 99) }
        cluster.restart(process)
      default: break
      }
    }

    func finish() {
      for process in cluster.processes { process.isPaused = false }
      for (process, _) in down { cluster.restart(process) }
      down = []
      outageEnd.withLock { $0 = .zero }
      cluster.log.change { log in
        log.isDown = false
        log.lost = []
        log.unanswered = 0
      }
    }
  }

  @Test(arguments: 1...30) func `no acknowledged row is lost, and all files become equal`(_ seed: Int) {
    let run = Run(seed: seed)
    for _ in 0..<600 { run.step() }
    run.finish()
    let cluster = run.cluster
    let isEqual = cluster.run(for: .seconds(30)) {
      cluster.leading != nil
        && Set(cluster.processes.map(\.folder.current.rows)).count == 1
        && cluster.processes.allSatisfy { $0.alarm == nil }
    }
    for process in cluster.processes {
      #expect(process.alarm == nil, "seed \(seed): \(process.leader.name)")
    }
    #expect(isEqual, "seed \(seed): \(cluster.processes.map { ($0.board.current.role, $0.folder.current.rows.count) })")
    let rows = cluster.processes[0].folder.current.rows
    #expect(run.acknowledged.isSubset(of: rows), "seed \(seed): lost \(run.acknowledged.subtracting(rows).sorted())")
    #expect(Set(cluster.processes.map(\.folder.current.secret)).count == 1, "seed \(seed)")
    #expect(run.acknowledged.count > 20)
    print("seed \(seed):", run.acknowledged.count, "of", rows.count, run.counts.sorted { $0.key < $1.key })
  }
}
