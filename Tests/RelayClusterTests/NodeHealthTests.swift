// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayCluster

/// The state of a node for its operator, from the facts that the node's threads have collected.
@Suite struct NodeHealthTests {
  private static let start = ContinuousClock.now
  private static let whole = StreamReplicas(configured: 3, current: 3)
  private static let degraded = StreamReplicas(configured: 3, current: 2, missing: ["c"])

  /// The facts of a healthy follower at second 0.
  private static var follower: NodeStatus {
    var status = NodeStatus()
    status.role = .follower
    status.position = .at(100)
    status.leader = .test
    status.noteNewest(100, at: start)
    status.contact = .answered(start)
    status.replicas = [.log: whole, .snapshots: whole]
    status.clockDifference = .milliseconds(3)
    return status
  }

  private static var leader: NodeStatus {
    var status = follower
    status.role = .leader
    return status
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let status: NodeStatus
    /// The seconds after the facts.
    let age: Double
    let lag: UInt64?
    let reachesLog: Bool
    let obstacle: String?
    let warnings: [String]

    init(
      _ description: String, _ status: NodeStatus, age: Double = 0, lag: UInt64?, reachesLog: Bool = true,
      obstacle: String? = nil, warnings: [String] = [], _ change: (inout NodeStatus) -> Void = { _ in }
    ) {
      testDescription = description
      var status = status
      change(&status)
      self.status = status
      self.age = age
      self.lag = lag
      self.reachesLog = reachesLog
      self.obstacle = obstacle
      self.warnings = warnings
    }
  }

  static let rows = [
    Row("a follower", follower, lag: 0),
    Row("a follower that is behind", follower, lag: 7, obstacle: "behind") { $0.noteNewest(107, at: start) },
    Row("a leader", leader, lag: 0),
    // One NATS server is down, or its disk is full.
    Row("the log lacks a replica", leader, lag: 0, warnings: ["lost_replicas"]) { $0.replicas[.log] = degraded },
    Row("the snapshots lack a replica", follower, lag: 0, warnings: ["lost_replicas"]) {
      $0.replicas[.snapshots] = degraded
    },
    Row("both lack a replica", follower, lag: 0, warnings: ["lost_replicas", "lost_replicas"]) {
      $0.replicas = [.log: degraded, .snapshots: degraded]
    },
    Row("more replicas than configured", follower, lag: 0) {
      $0.replicas[.log] = StreamReplicas(configured: 1, current: 3)
    },
    // A standby that is cut off. Its file may be complete, or not.
    Row("no request is answered", follower, age: 20, lag: nil, reachesLog: false, obstacle: "log_unavailable") {
      $0.contact = .silent(reason: "timeout")
    },
    Row("no look for a while", follower, age: 6.1, lag: nil, reachesLog: false),
    Row("the last look is recent", follower, age: 6, lag: 0),
    Row("the failure of a request", follower, lag: 0, obstacle: "log_unavailable") {
      $0.failure = .logUnavailable(reason: "timeout")
    },
    Row("before the first answer", NodeStatus(), lag: nil, reachesLog: false) { $0.position = .at(100) },
    Row("without a data folder", NodeStatus(), lag: 50, obstacle: "behind") { status in
      status.contact = .answered(start)
      status.noteNewest(50, at: start)
    },
    Row("NATS elects a leader", follower, lag: 0, reachesLog: false, obstacle: "log_unavailable") {
      $0.contact = .silent(reason: "no leader")
    },
    // The leader.
    Row("no proof", leader, age: 2, lag: nil, obstacle: "no_proof") { $0.unprovedSince = start },
    Row("no proof, and no answer", leader, age: 2, lag: nil, reachesLog: false, obstacle: "no_proof") { status in
      status.unprovedSince = start
      status.contact = .silent(reason: "timeout")
    },
    Row("the first snapshot", leader, lag: 0, obstacle: "snapshot_failed") {
      $0.failure = .snapshotFailed(reason: "full")
    },
    Row("a follower that led", follower, lag: 0) { $0.unprovedSince = start },
    // Clocks.
    Row("a clock within the tolerance", follower, lag: 0) { $0.clockDifference = .seconds(5) },
    Row("a clock that is ahead", follower, lag: 0, warnings: ["clock_differs"]) { $0.clockDifference = .seconds(5.1) },
    Row("a clock that is behind", follower, lag: 0, warnings: ["clock_differs"]) { $0.clockDifference = .seconds(-61) },
    Row("the leader compares its clock with nobody", leader, lag: 0) { $0.clockDifference = .seconds(600) },
    // Consumers.
    Row("no consumer", follower, lag: 0, warnings: ["no_consumer"]) { $0.readerObstacle = "timeout" },
    Row("an alarm has no obstacle", follower, age: 10, lag: nil, reachesLog: false) { status in
      status.contact = .silent(reason: "timeout")
      status.raise(.unrelatedFile)
    },
  ]

  @Test(arguments: rows) func `the facts decide what an operator sees`(row: Row) {
    let health = row.status.health(at: Self.start + .seconds(row.age))
    #expect(health.lag == row.lag)
    #expect(health.reachesLog == row.reachesLog)
    #expect(health.obstacle?.code == row.obstacle)
    #expect(health.warnings.map(\.code) == row.warnings)
    #expect(health.replicas.isEmpty == (!row.reachesLog || row.status.replicas.isEmpty))
  }

  @Test func `the texts name the streams, the servers and the clocks`() {
    #expect(
      "\(NodeWarning.lostReplicas(.log, Self.degraded))".hasPrefix(
        "the stream of the log has 2 of 3 current replicas. Not current: c. Check that these NATS servers run"))
    #expect("\(NodeWarning.lostReplicas(.log, Self.degraded))".hasSuffix("Restart a server whose disk was full"))
    let behind = "\(NodeWarning.clockDiffers(.milliseconds(-600_040), leader: "a"))"
    #expect(behind.hasPrefix("the clock of this node is 600.0 s behind the clock of the leader a."))
    #expect("\(NodeWarning.clockDiffers(.seconds(61), leader: "a"))".contains("61.0 s ahead of the clock"))
    #expect("\(NodeWarning.noConsumer(reason: "timeout"))".hasSuffix(": timeout"))
  }

  @Test func `the newest record never goes back by an old answer, and does by a new log`() {
    var status = Self.follower
    status.noteNewest(90, at: Self.start + .seconds(1))
    #expect(status.newest == 100)
    status.noteNewest(90, at: Self.start + .seconds(8))
    #expect(status.newest == 90)
    status.move(to: .at(95))
    #expect(status.newest == 95)
  }

  @Test func `a warning is reported at its begin, its change and its end`() {
    var warnings = ReportedWarnings()
    let lost = NodeWarning.lostReplicas(.log, Self.degraded)
    let more = NodeWarning.lostReplicas(.log, StreamReplicas(configured: 3, current: 1))
    let clock = NodeWarning.clockDiffers(.seconds(9), leader: "a")
    #expect(warnings.update([]) == [])
    #expect(warnings.update([lost]) == [.warning(lost)])
    #expect(warnings.update([lost, clock]) == [.warning(clock)])
    // The difference of two clocks changes all the time.
    #expect(warnings.update([more, .clockDiffers(.seconds(8), leader: "a")]) == [.warning(more)])
    #expect(warnings.update([.clockDiffers(.seconds(8), leader: "a")]) == [.warningEnded(more)])
    #expect(warnings.update([]) == [.warningEnded(.clockDiffers(.seconds(8), leader: "a"))])
    #expect("\(NodeEvent.warning(lost))".hasPrefix("lost_replicas: the stream of the log"))
  }

  @Test func `a warning about the replicas has not ended while the log does not answer`() {
    var warnings = ReportedWarnings()
    let lost = NodeWarning.lostReplicas(.log, Self.degraded)
    var status = Self.follower
    status.replicas[.log] = Self.degraded
    #expect(warnings.update(status.health(at: Self.start)) == [.warning(lost)])
    status.contact = .silent(reason: "timeout")
    #expect(warnings.update(status.health(at: Self.start)) == [])
    // The looks take too long.
    status.contact = .answered(Self.start)
    #expect(warnings.update(status.health(at: Self.start + .seconds(7))) == [])
    #expect(warnings.update(status.health(at: Self.start)) == [])
    status.replicas[.log] = Self.whole
    #expect(warnings.update(status.health(at: Self.start)) == [.warningEnded(lost)])
  }

  @Test func `a warning about the clock has not ended while nobody leads`() {
    var warnings = ReportedWarnings()
    let differs = NodeWarning.clockDiffers(.seconds(9), leader: Leader.test.name)
    var status = Self.follower
    status.clockDifference = .seconds(9)
    #expect(warnings.update(status.health(at: Self.start)) == [.warning(differs)])
    status.leader = nil
    status.clockDifference = nil
    #expect(warnings.update(status.health(at: Self.start)) == [])
    // The next leader has the same clock as the last one.
    status.leader = .test
    status.clockDifference = .seconds(9)
    #expect(warnings.update(status.health(at: Self.start)) == [])
    // A leader compares its clock with nobody.
    status.role = .leader
    status.clockDifference = nil
    #expect(warnings.update(status.health(at: Self.start)) == [.warningEnded(differs)])
  }
}

@Suite struct LogMonitorTests {
  private let log = TestLog()
  private let clock = TestClock()
  private let board = NodeStatusBoard()
  private let inbox = NodeInbox()

  private func look() -> NodeHealth {
    LogMonitor.look(at: log, inbox, board, clock)
    return board.health(at: clock.now)
  }

  @Test func `each stream has its replicas, and a stream without a leader has none`() {
    let whole = StreamReplicas(configured: 3, current: 3)
    #expect(look().replicas.isEmpty)
    log.change { log in
      log.replicas = [.log: whole, .snapshots: whole]
      _ = log.model.store(.term(1, 1))
    }
    #expect(look().replicas == [.log: whole, .snapshots: whole])
    #expect(look().lag == 1)
    log.change { $0.hasNoStoreLeader = true }
    #expect(look().replicas[.snapshots] == StreamReplicas(configured: 3, current: 0))
    #expect(look().warnings.map(\.code) == ["lost_replicas"])
    log.change { $0.isDown = true }
    let silent = look()
    #expect(!silent.reachesLog && silent.replicas.isEmpty && silent.obstacle?.code == "log_unavailable")
    log.change { ($0.isDown, $0.hasNoStoreLeader) = (false, false) }
    #expect(look().replicas == [.log: whole, .snapshots: whole])
  }

  @Test func `a lost stream of snapshots is shown by a process that never saw it`() {
    let none = StreamReplicas(configured: 3, current: 0)
    log.change { log in
      log.replicas = [.log: StreamReplicas(configured: 3, current: 3)]
      log.hasNoStoreLeader = true
    }
    #expect(look().replicas[.snapshots] == none)
    // The first node has not made the stream yet.
    log.change { $0.hasNoStoreLeader = false }
    #expect(look().replicas[.snapshots] == nil)
    #expect(look().warnings.isEmpty)
    // The stream was deleted.
    log.change { _ = $0.model.store(.term(1, 1)) }
    #expect(look().replicas[.snapshots] == none)
    #expect(look().warnings == [.lostReplicas(.snapshots, none)])
  }

  @Test func `the clock is compared with the leader's, also while the log is silent`() {
    board.change { $0.leader = .test }
    #expect(look().clockDifference == nil)
    let reading = clock.reading
    inbox.received(ClockNotice(node: Leader.test.name, time: reading.timeOfDay - .seconds(9)), at: reading)
    log.change { $0.isDown = true }
    #expect(look().clockDifference == .seconds(9))
    board.change { $0.leader = nil }
    #expect(look().clockDifference == nil)
  }
}
