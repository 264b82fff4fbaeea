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

  let node: Leader
  let log: any ClusterLog
  let folder: any ReplicaFolder
  let clock: any NodeClock
  let transfer: SnapshotTransfer
  let board: NodeStatusBoard
  let inbox: NodeInbox
  let onEvent: @Sendable (NodeEvent) -> Void

  var file: (any ReplicaFile)?
  var step = FollowerStep(position: LogPosition())
  /// Is `nil` before the file is compared with the log.
  var takeover: Takeover?
  var reader: (any LogReader)?
  /// The node reads the last records of the log before it takes over.
  var isCatchingUp = false
  /// This process led until now. Its first takeover waits longer, so that another node leads.
  private var isReluctant: Bool
  /// The leader that has left, until another one is seen.
  var leaver: Leader?
  /// The newest leader that this node has seen.
  private(set) var newestLeader: Leader?
  /// Records that were read and not decided.
  private var reads: [LogRead] = []
  /// The log is empty, and the file follows no log. The node begins the cluster, unless another node does.
  var isFounding = false
  var needsCheck = true
  var mustLoad = false
  /// The record that did not fit the file before the last snapshot was loaded.
  var conflict: UInt64?
  private var unwritten = 0
  /// A delivered record that the node compares with the log.
  private var doubt: Doubt?
  private var distrusted = DistrustedSequences()
  /// The file has a record that the log does not have. The node keeps it for the operator when it loads a snapshot.
  var mustKeep = false
  /// The action of the takeover that waits for its time.
  var pending: Takeover.Action?
  var earliest: ContinuousClock.Instant
  /// The time at which the takeover must be called again.
  var nextTick: ContinuousClock.Instant
  /// The reasons of the log's silence that this node has reported. Is empty while the log answers.
  private var silences: Set<String> = []
  /// The number of reasons that a node reports in one silence.
  static let maxSilences = 5
  private var nextFileEvent: ContinuousClock.Instant?
  static let minRejectionPause = Duration.milliseconds(2_500)
  /// Half of the time to the next attempt to load a snapshot that was not usable.
  var rejectionPause = ClusterNode.minRejectionPause
  /// The time of the next event about a takeover without an answer of the log. Is `nil` after an answer.
  var nextClaimEvent: ContinuousClock.Instant?
  /// The next time at which this node reports that it waits for a snapshot. Is `nil` while it does not wait.
  var nextWaitEvent: ContinuousClock.Instant?
  /// The next time at which this node reports its alarm again. Is `nil` without an alarm.
  private var nextAlarmEvent: ContinuousClock.Instant?

  /// - Parameters:
  ///   - file: The node's file if it is open already.
  ///   - isReluctant: True if this node led until now, and its leadership has ended.
  ///   - isDamaged: True if the file is damaged, and follows the log. The node loads a snapshot before it follows.
  public init(
    _ transfer: SnapshotTransfer, file: (any ReplicaFile)? = nil, board: NodeStatusBoard, inbox: NodeInbox,
    isReluctant: Bool = false, isDamaged: Bool = false, onEvent: @escaping @Sendable (NodeEvent) -> Void
  ) {
    self.file = file
    node = transfer.node
    log = transfer.log
    folder = transfer.folder
    clock = transfer.clock
    self.transfer = transfer
    self.board = board
    self.inbox = inbox
    self.isReluctant = isReluctant
    mustLoad = isDamaged
    self.onEvent = onEvent
    earliest = transfer.clock.now
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
      // A damaged file may be impossible to open.
      if mustLoad { return try load() }
      guard let file else {
        self.file = try folder.open()
        return .again(after: .zero)
      }
      guard let takeover else { return try begin(file) }
      if !takeover.isPublishing {
        if needsCheck, let turn = checkLog() { return turn }
        if let turn = try follow(file) { return turn }
      }
      return try takeOver(file)
    } catch {
      return fileFailed(error)
    }
  }

  /// Begins again after a second. One line a minute is enough. The newest snapshot replaces a damaged file that follows
  /// the log.
  private func fileFailed(_ error: ReplicaError) -> Turn {
    if case .newerSchema = error { return stop(.newerSchema(snapshot: nil)) }
    let now = clock.now
    board.change { status in
      status.fileFailures += 1
      status.failure = .fileFailed(reason: "\(error)")
    }
    if case .damaged = error, isReplaceable() { mustLoad = true }
    if now >= nextFileEvent ?? now {
      onEvent(.fileFailed(reason: "\(error)"))
      nextFileEvent = now + .seconds(60)
    }
    restart()
    return .again(after: .seconds(1))
  }

  /// True if a snapshot of the log contains everything that clients have seen of a damaged file.
  private func isReplaceable() -> Bool {
    guard step.position.sequence == 0 else { return !isFounding }
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
      needsCheck = true
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
    let isWaiting = nextWaitEvent != nil
    // The leader is about to publish a snapshot.
    if isWaiting { nextWaitEvent = time + Self.patience }
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

  /// Begins to follow at the position of the file.
  private func begin(_ file: any ReplicaFile) throws(ReplicaError) -> Turn {
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
        isFounding = true
        return begin(at: LogPosition(generation: state.generation))
      }
      guard manifest == nil else {
        mustLoad = true
        return .again(after: .zero)
      }
      // Only the node that began the cluster may publish the first snapshot. Another one has another secret, and the
      // first one may have data.
      return waitForSnapshot(first)
    } catch {
      return logFailed(error)
    }
  }

  private func begin(at position: LogPosition) -> Turn {
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
    takeover = nil
    reader = nil
    isCatchingUp = false
    reads = []
    pending = nil
    isFounding = false
    needsCheck = true
    unwritten = 0
    doubt = nil
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
  private func checkLog() -> Turn? {
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
      mustLoad = true
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
    needsCheck = false
    takeover = makeTakeover()
    pending = nil
    if isCatchingUp { reader = nil }
    isCatchingUp = false
    onEvent(.follows(step.position))
    nextWaitEvent = nil
    nextAlarmEvent = nil
    board.change { [isFounding] status in
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
    let now = clock.now
    guard now >= nextAlarmEvent ?? now else { return }
    nextAlarmEvent = now + Self.patience
    onEvent(.alarm(alarm))
    board.change { $0.raise(alarm) }
  }

  /// The file has a record that the log does not have.
  private func diverged(_ term: UInt64) -> Turn {
    onEvent(.diverged(step.position, term: term))
    board.change { $0.conflicts += 1 }
    distrusted.insert(step.position.sequence)
    doubt = nil
    mustKeep = true
    mustLoad = true
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
    self.doubt = nil
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
        } else if isCatchingUp {
          reader = MessageReader(log, after: step.position.sequence) { [clock] in _ = clock.wait($0) }
        } else {
          reader = try log.follow(after: step.position.sequence)
        }
        self.reader = reader
        defer { board.change { $0.readerObstacle = reader.obstacle } }
        let until = pending == nil ? nextTick : earliest
        let timeout = min(max(until - clock.now, .milliseconds(1)), .milliseconds(100))
        reads = try reader.next(max: FollowerBatch.maxRecords, timeout: timeout)
        try distrusted.correct(&reads, from: log)
      }
    } catch {
      reader = nil
      reads = []
      needsCheck = true
      board.change { $0.readerObstacle = nil }
      // The takeover also waits for an answer of the log.
      return logFailed(error)
    }
    guard !reads.isEmpty else {
      fileWorks()
      return nil
    }
    if isFounding {
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
      mustLoad = true
      return .again(after: .zero)
    case .doubt(let doubt):
      self.doubt = doubt
      needsCheck = true
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
    mustLoad = true
    return .again(after: .zero)
  }
}
