// SPDX-License-Identifier: Apache-2.0

/// A node that does not lead: it follows the log, loads snapshots, and takes over. Belongs to one thread.
///
/// Each call of ``turn()`` performs one step, so that tests can run the steps of several nodes in any order.
public final class ClusterNode {
  public enum End {
    /// This node leads. The position is written to the file, which is open.
    case leads(LogPosition, KeyClock, any ReplicaFile)
    case alarm(Alarm)
    case shutDown
  }

  public enum Turn {
    case again(after: Duration)
    case ended(End)
  }

  /// The maximum number of records without changes after which the node writes its position to the file.
  static let maxUnwritten = 256
  /// The time between two attempts to reach the log. It does not grow: an election of NATS ends at any moment.
  public static let pause = Duration.milliseconds(500)
  /// The time without a leader and a snapshot after which a node has an alarm. It repeats the alarm with this interval.
  static let patience = Duration.seconds(60)

  let transfer: SnapshotTransfer
  var node: Leader { transfer.node }
  var log: any ClusterLog { transfer.log }
  var folder: any ReplicaFolder { transfer.folder }
  var clock: any NodeClock { transfer.clock }
  let board: NodeStatusBoard
  let inbox: NodeInbox
  let onEvent: @Sendable (NodeEvent) -> Void

  /// The last records before a takeover have a reader of another kind.
  var phase: NodePhase {
    didSet { if (phase.state == .catchingUp) != (oldValue.state == .catchingUp) { reader = nil } }
  }
  var file: (any ReplicaFile)?
  var step = FollowerStep(position: LogPosition())
  /// Is `nil` before the node follows the log.
  var takeover: Takeover?
  var reader: (any LogReader)?
  /// This process led until now. Its first takeover waits longer, so that another node leads.
  private var isReluctant: Bool
  /// The leader that has left, until another one is seen.
  var leaver: Leader?
  /// The newest leader that this node has seen.
  private(set) var newestLeader: Leader?
  /// Records that were read and not decided.
  private var reads: [LogRead] = []
  /// The record that did not fit the file before the last snapshot was loaded.
  var conflict: UInt64?
  private var unwritten = 0
  private var distrusted = DistrustedSequences()
  /// The file has a record that the log does not have. The node keeps it for the operator when it loads a snapshot.
  var mustKeep = false
  /// The action of the takeover that waits for its time.
  var pending: (action: Takeover.Action, earliest: ContinuousClock.Instant)?
  /// The time at which the takeover must be called again.
  var nextTick: ContinuousClock.Instant
  /// The reasons of the log's silence that this node has reported. Is empty while the log answers.
  private var silences: Set<String> = []
  /// The number of reasons that a node reports in one silence.
  static let maxSilences = 5
  private var fileReports = Reminder()
  static let minRejectionPause = Duration.milliseconds(2_500)
  /// Half of the time to the next attempt to load a snapshot that was not usable.
  var rejectionPause = ClusterNode.minRejectionPause
  /// Reports of a takeover without an answer of the log.
  var claimReports = Reminder()
  /// Reports of a wait for a snapshot.
  var waitReports = Reminder()
  /// Reports of an alarm that may end by itself.
  private var alarmReports = Reminder()

  /// - Parameters:
  ///   - file: The node's file if it is open already.
  ///   - isReluctant: True if this node led until now, and its leadership has ended.
  ///   - isDamaged: True if the file is damaged, and follows the log. The node loads a snapshot before it follows.
  public init(
    _ transfer: SnapshotTransfer, file: (any ReplicaFile)? = nil, board: NodeStatusBoard, inbox: NodeInbox,
    isReluctant: Bool = false, isDamaged: Bool = false, onEvent: @escaping @Sendable (NodeEvent) -> Void
  ) {
    self.file = file
    self.transfer = transfer
    self.board = board
    self.inbox = inbox
    self.isReluctant = isReluctant
    phase = NodePhase(isDamaged ? .loading : .starting)
    self.onEvent = onEvent
    nextTick = transfer.clock.now
  }

  /// Runs until this node leads, cannot go on, or shuts down.
  public func run() -> End {
    while true {
      switch turn() {
      case .ended(let end): return end
      case .again(let pause):
        guard clock.wait(pause) else {
          file?.close()
          return .shutDown
        }
      }
    }
  }

  public func turn() -> Turn {
    readInbox()
    do throws(ReplicaError) {
      switch phase.state {
      // A damaged file may be impossible to open.
      case .loading: return try load()
      case .starting: return try begin()
      case .checking(let doubt): if let turn = checkLog(doubt) { return turn }
      case .following, .catchingUp, .publishing: break
      }
      guard let file else { preconditionFailure("the node has opened its file") }
      if !phase.isPublishing, let turn = try follow(file) { return turn }
      return try takeOver(file)
    } catch {
      return fileFailed(error)
    }
  }

  /// Begins again after a second. One line a minute is enough. The newest snapshot replaces a damaged file that follows
  /// the log.
  private func fileFailed(_ error: ReplicaError) -> Turn {
    if case .newerSchema = error { return stop(.newerSchema(snapshot: nil)) }
    board.change { status in
      status.fileFailures += 1
      status.failure = .fileFailed(reason: "\(error)")
    }
    let now = clock.now
    if case .damaged = error, isReplaceable() { phase.take(.needsSnapshot) }
    if fileReports.isDue(at: now, every: .seconds(60)) { onEvent(.fileFailed(reason: "\(error)")) }
    restart()
    return .again(after: .seconds(1))
  }

  /// True if a snapshot of the log contains everything that clients have seen of a damaged file.
  private func isReplaceable() -> Bool {
    guard step.position.sequence == 0 else { return !phase.isFounding }
    // The node has just started. If its file belongs to another log, the operator must decide.
    guard let position = try? folder.positionOfDamaged(), position.sequence > 0, let state = try? log.state(),
      state.generation == position.generation
    else { return false }
    // The log may lack the newest records of the file.
    mustKeep = true
    return true
  }

  private func readInbox() {
    let contents = inbox.take()
    if contents.wasDisconnected {
      phase.take(.disconnected)
      reader = nil
    }
    guard let (heartbeat, time) = contents.heartbeat, heartbeat.term >= step.position.term else { return }
    takeover?.received(heartbeat, at: time)
    guard !heartbeat.isLeaving else {
      leaver = heartbeat.leader
      board.change { $0.leader = nil }
      return
    }
    found(heartbeat.leader)
    let isWaiting = waitReports.next != nil
    // The leader is about to publish a snapshot.
    waitReports.postpone(to: time + Self.patience)
    board.change { status in
      if isWaiting { status.clearAlarm() }
      status.leader = heartbeat.leader
      status.noteNewest(heartbeat.sequence, at: time)
    }
  }

  private func found(_ leader: Leader) {
    leaver = nil
    newestLeader = leader
    if leader != node { isReluctant = false }
  }

  // MARK: The start

  /// Opens the file, and begins to follow at its position in the next turn.
  private func begin() throws(ReplicaError) -> Turn {
    guard let file else {
      self.file = try folder.open()
      return .again(after: .zero)
    }
    let position = try file.position
    let isEmpty = try file.isEmpty
    // A file without data at the first record is a claim: its node has tried to begin the cluster, see `claim`.
    guard position == nil || (position?.sequence == 1 && isEmpty) else { return begin(at: position ?? LogPosition()) }
    guard isEmpty else { return stop(.unrelatedFile) }
    do throws(LogUnavailable) {
      let state = try log.createStreams()
      let manifest = try log.newest()
      let first = try log.read(1)
      logAnswered()
      if let position, case .record(let first) = first, first.gid == position.gid { return begin(at: position) }
      if state.last == 0 {
        if let manifest { return stop(.orphanedSnapshot(manifest.position, state)) }
        return begin(at: LogPosition(generation: state.generation), isFounding: true)
      }
      guard manifest == nil else {
        phase.take(.needsSnapshot)
        return .again(after: .zero)
      }
      // Only the node that began the cluster may publish the first snapshot. Another one has another secret, and the
      // first one may have data.
      return waitForSnapshot(first)
    } catch {
      return logFailed(error)
    }
  }

  private func begin(at position: LogPosition, isFounding: Bool = false) -> Turn {
    phase.take(.began(isFounding: isFounding))
    step = FollowerStep(position: position, schemas: folder.migrations)
    takeover = makeTakeover()
    board.change { $0.position = position }
    return .again(after: .zero)
  }

  private func makeTakeover() -> Takeover {
    Takeover(
      node, at: clock.now, after: isReluctant ? Takeover.reluctance : Takeover.silence,
      since: isReluctant ? nil : inbox.silentSince, jitter: { [clock] in clock.random(upTo: Takeover.maxJitter) },
      gid: { [clock] in clock.gid() })
  }

  /// Begins again with the position of the file, after a failed transaction or a loaded snapshot.
  func restart() {
    phase.take(.restarted)
    takeover = nil
    reader = nil
    reads = []
    pending = nil
    unwritten = 0
  }

  // MARK: The log

  func logFailed(_ error: LogUnavailable) -> Turn {
    // The first reason is often a timeout, and a later one explains it.
    if silences.count < Self.maxSilences, silences.insert(error.reason).inserted {
      onEvent(.logUnavailable(reason: error.reason))
    }
    board.change { $0.failure = .logUnavailable(reason: error.reason) }
    return .again(after: Self.pause)
  }

  func logAnswered() {
    if !silences.isEmpty { onEvent(.logAvailable) }
    silences = []
    board.change { $0.end { if case .logUnavailable = $0 { true } else { false } } }
  }

  /// Compares the file with the log. Returns `nil` if the node may read records.
  private func checkLog(_ doubt: Doubt?) -> Turn? {
    let decision: FollowerStep.Decision
    do throws(LogUnavailable) {
      let state = try log.state()
      let newest = step.position.sequence > 0 ? try log.read(step.position.sequence) : nil
      decision = step.check(state, newest: newest)
    } catch {
      return logFailed(error)
    }
    logAnswered()
    switch decision {
    case .loadSnapshot:
      phase.take(.needsSnapshot)
      return .again(after: .zero)
    case .diverged(let term): return diverged(term)
    case .stop(let alarm): return stop(alarm)
    case .wait: return .again(after: LogCheck.pause)
    case .elect:
      electAnotherServer()
      return .again(after: LogCheck.pause)
    case .raise(let alarm, let elects):
      raise(alarm)
      if elects { electAnotherServer() }
      return .again(after: LogCheck.pause)
    case .advance, .apply, .migrate, .follow, .skip, .ignore, .doubt: break
    }
    if let doubt, let turn = check(doubt) { return turn }
    phase.take(.confirmed)
    takeover = makeTakeover()
    pending = nil
    onEvent(.follows(step.position))
    waitReports.end()
    alarmReports.end()
    board.change { [isFounding = phase.isFounding] status in
      status.clearAlarm()
      status.end { failure in
        switch failure {
        case .loadingSnapshot, .waitingForSnapshot, .snapshotRejected: true
        case .logUnavailable, .takeoverRefused, .fileFailed, .snapshotFailed, .behind, .unproved: false
        }
      }
      if !isFounding { status.role = .follower }
    }
    return nil
  }

  /// Asks for another leader of the log, on average once in ``LogCheck/electionInterval``.
  private func electAnotherServer() {
    guard clock.random(upTo: LogCheck.electionInterval) < LogCheck.pause else { return }
    onEvent(.electsServer(step.position))
    log.electAnotherServer()
  }

  /// Reports an alarm that may end by itself, at once and then once a minute.
  private func raise(_ alarm: Alarm) {
    guard alarmReports.isDue(at: clock.now, every: Self.patience) else { return }
    onEvent(.alarm(alarm))
    board.change { $0.raise(alarm) }
  }

  /// The file has a record that the log does not have.
  private func diverged(_ term: UInt64) -> Turn {
    onEvent(.diverged(step.position, term: term))
    board.change { $0.conflicts += 1 }
    distrusted.insert(step.position.sequence)
    mustKeep = true
    phase.take(.needsSnapshot)
    return .again(after: .zero)
  }

  /// The log has confirmed the file. Returns `nil` if the node may read the record again.
  private func check(_ doubt: Doubt) -> Turn? {
    let decision: Doubt.Decision
    do throws(LogUnavailable) {
      decision = doubt.decide(try log.read(doubt.sequence))
    } catch {
      return logFailed(error)
    }
    switch decision {
    case .stop(let alarm): return stop(alarm)
    case .readAgain:
      distrusted.insert(doubt.sequence)
      return nil
    }
  }

  /// Reads and applies some records. Returns `nil` if the node may go on with the takeover.
  private func follow(_ file: any ReplicaFile) throws(ReplicaError) -> Turn? {
    do throws(LogUnavailable) {
      if reads.isEmpty {
        let reader: any LogReader
        if let open = self.reader {
          reader = open
        } else if phase.state == .catchingUp {
          reader = MessageReader(log, after: step.position.sequence) { [clock] in _ = clock.wait($0) }
        } else {
          reader = try log.follow(after: step.position.sequence)
        }
        self.reader = reader
        defer { board.change { $0.readerObstacle = reader.obstacle } }
        let until = pending?.earliest ?? nextTick
        let timeout = min(max(until - clock.now, .milliseconds(1)), .milliseconds(100))
        reads = try reader.next(max: FollowerBatch.maxRecords, timeout: timeout)
        try distrusted.correct(&reads, from: log)
      }
    } catch {
      reader = nil
      reads = []
      phase.take(.disconnected)
      board.change { $0.readerObstacle = nil }
      // The takeover also waits for an answer of the log.
      return logFailed(error)
    }
    guard !reads.isEmpty else {
      fileWorks()
      return nil
    }
    if phase.isFounding {
      // Another node has begun the cluster.
      restart()
      return .again(after: .zero)
    }
    let batch = FollowerBatch(reads, &step)
    reads.removeFirst(batch.used)
    if let turn = try apply(batch, file) { return turn }
    fileWorks()
    note(batch)
    return reads.isEmpty ? nil : .again(after: .zero)
  }

  private func fileWorks() { board.change { $0.end { if case .fileFailed = $0 { true } else { false } } } }

  private func note(_ batch: FollowerBatch) {
    if let leader = batch.leader {
      takeover?.leaderSeen(at: clock.now)
      inbox.leaderSeen(at: clock.now)
      found(leader)
      onEvent(.leaderChanged(leader, term: step.position.term))
    }
    if batch.skipped > 0 { onEvent(.skipped(batch.skipped)) }
    board.change { status in
      status.move(to: step.position)
      status.skipped += UInt64(batch.skipped)
      guard let leader = batch.leader else { return }
      status.leader = leader
      status.leaderChanges += 1
    }
  }

  /// Applies a batch in one transaction. Returns `nil` if the node may go on.
  private func apply(_ batch: FollowerBatch, _ file: any ReplicaFile) throws(ReplicaError) -> Turn? {
    if let position = batch.position {
      unwritten += batch.used
      // Records without rows only move the position. It may stay behind the log.
      let isNeeded = !batch.rows.isEmpty || batch.leader != nil || unwritten >= Self.maxUnwritten
      do throws(ReplicaError) {
        if isNeeded { try file.apply(batch.rows.map(\.body), position: position) }
      } catch {
        guard case .conflict(let index, let reason) = error, batch.rows.indices.contains(index) else { throw error }
        return conflicted(at: batch.rows[index].sequence, reason)
      }
      if isNeeded { unwritten = 0 }
    }
    switch batch.next {
    case .read: return nil
    case .migrate(let name, let position):
      try file.migrate(name, position: position)
      unwritten = 0
      onEvent(.migrated(name))
      return nil
    case .loadSnapshot:
      phase.take(.needsSnapshot)
      return .again(after: .zero)
    case .doubt(let doubt):
      phase.take(.doubted(doubt))
      reader = nil
      reads = []
      return .again(after: .zero)
    case .stop(let alarm): return stop(alarm)
    }
  }

  private func conflicted(at sequence: UInt64, _ reason: String) -> Turn {
    onEvent(.conflict(sequence: sequence, reason: reason))
    board.change { $0.conflicts += 1 }
    if case .stop(let alarm) = FollowerStep.conflicted(at: sequence, earlier: conflict) { return stop(alarm) }
    conflict = sequence
    phase.take(.needsSnapshot)
    return .again(after: .zero)
  }
}
