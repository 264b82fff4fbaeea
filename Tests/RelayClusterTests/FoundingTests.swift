// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import SeededRandom
import Testing

/// Random faults while the nodes begin a cluster.
@Suite struct FoundingTests {
  @Test(arguments: 1...60) func `one node begins the cluster under random faults`(_ seed: Int) {
    let cluster = TestCluster(nodes: 3)
    var random = SeededGenerator(seed: seed)
    // A writer or founder that waits for the log waits until the outage ends.
    let log = cluster.log
    cluster.clock.onWait { _ in log.change { $0.isDown = false } }
    for _ in 0..<200 {
      let process = cluster.processes[random.below(3)]
      switch random.below(20) {
      case 0: cluster.restart(process)
      case 1: process.isPaused.toggle()
      case 2: log.change { $0.unanswered = 1 }
      case 3: log.change { $0.lost = [.unknown(reason: "timeout")] }
      case 4: log.change { $0.isDown.toggle() }
      case 5: log.change { $0.unansweredManifests = 1 }
      default: break
      }
      cluster.run(for: .milliseconds(random.below(60))) { false }
    }
    for process in cluster.processes {
      process.isPaused = false
      // A leader that leads no more begins again as a follower.
      if process.journal?.end != nil { cluster.restart(process) }
    }
    log.change { log in
      log.isDown = false
      log.lost = []
      log.unanswered = 0
    }
    // A leader that was paused learns from the log that another node leads.
    let isWritten = cluster.run(for: .seconds(20)) {
      if case .commit = cluster.write(1, at: cluster.leading) { true } else { false }
    }
    #expect(isWritten, "seed \(seed)")
    let isEqual = cluster.run(for: .seconds(20)) {
      for process in cluster.processes where process.journal?.end != nil { cluster.restart(process) }
      return cluster.processes.allSatisfy { $0.folder.current.rows == [1] }
    }
    #expect(isEqual, "seed \(seed): \(cluster.processes.map(\.folder.current))")
    #expect(Set(cluster.processes.map(\.folder.current.secret)).count == 1, "seed \(seed)")
    #expect(cluster.processes.allSatisfy { $0.alarm == nil }, "seed \(seed)")
  }
}
