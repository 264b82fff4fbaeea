// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayCluster
import RelayHTTP
import RelayIdentity
import RelayNATS
import RelayProtocol
import Synchronization

/// A node's connection to its cluster, and the threads of its role.
///
/// Threads: `stillwire node` follows the log until the node leads, `stillwire pulse` sends the heartbeats of a leader,
/// `stillwire noop` proves its leadership, `stillwire snaps` publishes snapshots, `stillwire watch` notices that the log
/// stays silent, `stillwire looks` looks at the streams, and `stillwire clock` sends the clock to the other nodes.
final class ClusterNodeRun: Sendable {
  /// The reason why the node does not follow any more.
  enum Outcome: Sendable {
    case leads(LeaderJournal)
    case alarm(Alarm)
    /// The leadership ended before it served anybody. The process is replaced soon.
    case replaced
    case shutDown
  }

  let leader: Leader
  let board = NodeStatusBoard()
  let clock = SystemNodeClock()
  private let inbox = NodeInbox()
  private let nats: NATSConfiguration
  private let folder: any ReplicaFolder
  /// The end of the leadership of this process, if it led until now.
  private let former: ProcessReplacement.Mark?
  private let log: Logger
  private let schedule: SnapshotSchedule
  private let isSnapshotRequested = Mutex(false)
  private let publishes = Mutex(Histogram.seconds)
  private let journal = Mutex<LeaderJournal?>(nil)
  /// Called when a node that does not lead must connect to NATS again.
  private let onLost: @Sendable () -> Void
  private let hasConnected = Mutex(false)
  private let failures = Mutex(RepeatedLines())
  /// Called once when a leader leads no more.
  private let onEnd: @Sendable (LeaderEnd) -> Void

  init(
    _ configuration: ServerConfiguration, folder: any ReplicaFolder, former: ProcessReplacement.Mark?, log: Logger,
    onLost: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable (LeaderEnd) -> Void
  ) throws(StartupError) {
    leader = try configuration.cluster.leader()
    nats = try configuration.cluster.nats(leader)
    schedule = SnapshotSchedule(maxLog: UInt64(nats.maxLogBytes))
    self.folder = folder
    self.former = former
    self.log = log
    self.onLost = onLost
    self.onEnd = onEnd
  }

  // MARK: The thread of the node

  /// Follows the log on a thread of its own. Returns when the node leads, has an alarm, or shuts down.
  func follow() async -> Outcome {
    await withCheckedContinuation { continuation in
      Self.thread("stillwire node") { [self] in continuation.resume(returning: followOnThread()) }
    }
  }

  private static func thread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread {
      Thread.current.name = name
      body()
    }
    thread.stackSize = 4 << 20
    thread.start()
  }

  private func followOnThread() -> Outcome {
    // The operator sees the position of the file although NATS does not answer. A failure is reported later.
    let file = try? folder.open()
    if let file, let position = try? file.position { board.change { $0.move(to: position) } }
    guard let (nats, subscription) = connect() else {
      file?.close()
      return .shutDown
    }
    let transfer = SnapshotTransfer(leader, log: nats, folder: folder, clock: clock) { SHA256Digest() }
    Self.thread("stillwire snaps") { [self] in publishSnapshots(transfer) }
    Self.thread("stillwire watch") { [self] in watchLog() }
    Self.thread("stillwire looks") { [self] in look(at: nats) }
    Self.thread("stillwire clock") { [self] in
      while clock.wait(ClockNotice.interval) {
        nats.send(ClockNotice(node: leader.name, time: clock.reading.timeOfDay))
      }
    }
    let node = ClusterNode(
      transfer, file: file, board: board, inbox: inbox, isReluctant: former != nil, isDamaged: former == .ledDamaged,
      onEvent: { [self] in note($0) })
    switch node.run() {
    case .shutDown: return .shutDown
    case .alarm(let alarm): return .alarm(alarm)
    case .leads(let position, let keys, let file):
      withExtendedLifetime(subscription) {}
      return lead(at: position, keys, file, nats, transfer)
    }
  }

  /// Looks at the streams until the node shuts down, and logs the begin and the end of each warning.
  private func look(at nats: NATSLog) {
    var warnings = ReportedWarnings()
    while true {
      LogMonitor.look(at: nats, inbox, board, clock)
      for event in warnings.update(board.health(at: clock.now)) { note(event) }
      guard clock.wait(LogMonitor.interval) else { return }
    }
  }

  /// Connects to NATS, as often as necessary. Returns `nil` if the node shuts down.
  private func connect() -> (NATSLog, HeartbeatSubscription)? {
    var last: String?
    while true {
      do throws(LogUnavailable) {
        let nats = try NATSLog(nats) { [self] in note($0) }
        let subscription = try nats.onHeartbeat { [inbox, clock] in
          inbox.received($0, at: clock.now)
        } onClock: { [inbox, clock] in
          inbox.received($0, at: clock.reading)
        }
        board.change { $0.failure = nil }
        hasConnected.withLock { $0 = true }
        return (nats, subscription)
      } catch {
        if error.reason != last { note(.logUnavailable(reason: error.reason)) }
        last = error.reason
        board.change { $0.failure = .logUnavailable(reason: error.reason) }
        guard clock.wait(ClusterNode.pause) else { return nil }
      }
    }
  }

  /// Begins again if the log stays silent until this node leads.
  private func watchLog() {
    var silence = LogSilence()
    while clock.wait(.seconds(1)), journal.withLock({ $0 == nil }) {
      let isSilent = if case .logUnavailable = board.current.failure { true } else { false }
      guard silence.isTooLong(isSilent: isSilent, at: clock.now) else { continue }
      log.warning(
        "the log has not answered for \(LogSilence.patience): this node connects again",
        metadata: ["node": "\(leader.name)"])
      onLost()
      return
    }
  }

  // MARK: The leader

  /// Begins to lead.
  private func lead(
    at position: LogPosition, _ keys: KeyClock, _ file: any ReplicaFile, _ nats: NATSLog, _ transfer: SnapshotTransfer
  ) -> Outcome {
    let journal = LeaderJournal(
      leader, at: position, keys: keys, log: nats, clock: clock, board: board,
      onPublished: { [self] _, duration in publishes.withLock { $0.observe(duration.seconds) } },
      onEvent: { [self] in note($0) }, onEnd: onEnd)
    self.journal.withLock { $0 = journal }
    Self.thread("stillwire pulse") { [clock] in
      while journal.end == nil, clock.wait(Heartbeat.interval) { journal.pulse() }
    }
    Self.thread("stillwire noop") { [clock] in
      // After a pause the clients wait for the proof, so the interval is short.
      while journal.publishNoopIfDue(), clock.wait(.milliseconds(25)) {}
    }
    journal.pulse()
    guard ClusterNode.migrate(file, journal, onEvent: { note($0) }),
      ClusterNode.publishFirstSnapshot(
        transfer, of: file, at: position, board: board, isOver: { journal.end != nil }, onEvent: { note($0) }),
      journal.waitForProof()
    else { return journal.end == nil ? .shutDown : .replaced }
    file.close()
    return .leads(journal)
  }

  // MARK: Snapshots

  /// The minimum time between two snapshots that operators request. Each one copies the whole file.
  private static let minRequestInterval = Duration.seconds(10)

  /// Requests a snapshot as soon as possible.
  func requestSnapshot() { isSnapshotRequested.withLock { $0 = true } }

  private func takeRequest() -> Bool {
    isSnapshotRequested.withLock { requested in
      defer { requested = false }
      return requested
    }
  }

  /// Publishes snapshots until the node shuts down.
  private func publishSnapshots(_ transfer: SnapshotTransfer) {
    var isFirstFailure = true
    var next = clock.now + schedule.interval
    var nextRequested = clock.now
    while clock.wait(.milliseconds(500)) {
      // A request waits here. Several requests have one snapshot.
      let isRequested = clock.now >= nextRequested && takeRequest()
      guard isRequested || clock.now >= next else { continue }
      next = clock.now + schedule.interval + clock.random(upTo: .seconds(5))
      if isRequested { nextRequested = clock.now + Self.minRequestInterval }
      do throws(LogUnavailable) {
        guard try isDue(transfer, isRequested: isRequested) else { continue }
        let manifest = try transfer.publish()
        board.change { $0.snapshotsPublished += 1 }
        note(.published(manifest))
        isFirstFailure = true
      } catch {
        if isRequested || isFirstFailure { note(.snapshotFailed(reason: error.reason)) }
        isFirstFailure = false
      }
    }
  }

  private func isDue(_ transfer: SnapshotTransfer, isRequested: Bool) throws(LogUnavailable) -> Bool {
    let status = board.current
    guard [.follower, .leader].contains(status.role) else { return false }
    if isRequested { return true }
    return schedule.isDue(
      at: status.position, isLeader: status.role == .leader, newest: try transfer.newest(), log: try transfer.state())
  }

  // MARK: The log of the operator

  private func note(_ event: NodeEvent) {
    log.log(level: Logger.Level(event.level), "\(event)", metadata: ["node": "\(leader.name)"])
  }

  /// Runs on a thread of cnats.
  private func note(_ event: NATSEvent) {
    // At the end of the process the connection is closed.
    guard clock.wait(.zero) else { return }
    let level: Logger.Level
    switch event {
    case .connected:
      level = .info
      inbox.connected(at: clock.now)
    case .closed:
      // cnats gives up if a server refuses the user twice. A leader ends when it cannot prove its leadership.
      let isLost = hasConnected.withLock { $0 }
      level = isLost ? .error : .debug
      if isLost, journal.withLock({ $0 == nil }) { onLost() }
    case .failed(let reason):
      level = .warning
      guard failures.withLock({ $0.admits(reason, at: clock.now) }) else { return }
    case .disconnected:
      level = .warning
      inbox.disconnected()
      journal.withLock { $0 }?.disconnected()
    }
    log.log(level: level, "\(event)", metadata: ["node": "\(leader.name)"])
  }
}

extension Logger.Level {
  init(_ level: NodeEvent.Level) {
    self =
      switch level {
      case .info: .info
      case .notice: .notice
      case .warning: .warning
      case .error: .error
      }
  }
}

extension ClusterNodeRun: ClusterOperations {
  var report: ClusterReport {
    let status = board.current
    return ClusterReport(
      node: leader, status: status, health: status.health(at: clock.now), publishes: publishes.withLock { $0 })
  }

  func stepDown(after isReady: @escaping @Sendable () -> Void) {
    let journal = journal.withLock { $0 }
    // The caller is the hub's thread, which must not wait for the log.
    Self.thread("stillwire step") {
      // The hub first answers the operator.
      usleep(100_000)
      isReady()
      journal?.stepDown()
    }
  }
}
