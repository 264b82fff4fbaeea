// SPDX-License-Identifier: Apache-2.0

/// Performs the actions of ``Takeover``.
extension ClusterNode {
  func takeOver(_ file: any ReplicaFile) throws(ReplicaError) -> Turn {
    guard var takeover else { return .again(after: .zero) }
    defer { if self.takeover != nil { self.takeover = takeover } }
    // A log without records has no time yet.
    takeover.newest = step.time ?? clock.reading.timeOfDay
    takeover.yields = inbox.clocks.yields(node.name, to: newestLeader?.name, at: clock.now)
    if takeover.doubtsLeader(at: clock.now) { board.change { $0.leader = nil } }
    let wasPublishing = takeover.isPublishing
    guard let action = next(&takeover) else {
      // A publish must wait for its time here, because the node reads no records meanwhile.
      let wait = (pending?.earliest ?? clock.now) - clock.now
      return .again(after: takeover.isPublishing ? max(wait, .zero) : .zero)
    }
    // A node whose file takes no writes, for example because its disk is full, does not take over.
    if !wasPublishing, takeover.isPublishing, !phase.isFounding { try file.setPosition(step.position) }
    let isNew = pending == nil
    pending = nil
    phase.take(.decided(action, isPublishing: takeover.isPublishing))
    switch action {
    case .wait(let time):
      nextTick = time
      if wasPublishing { onEvent(.lostElection) }
    case .compare: break
    case .catchUp: nextTick = clock.now + .milliseconds(100)
    case .inspect(let pause), .read(_, let pause), .publish(_, let pause):
      if phase.isFounding, case .publish(let record, _) = action { try claim(record, file) }
      if case .inspect = action, pause == .zero, isNew, !takeover.isPublishing { silent() }
      pending = (action, clock.now + pause)
    case .stop(.lostTail):
      // The comparison at the next start also waits for a server that has the records.
      restart()
      return .again(after: .zero)
    case .stop(let alarm): return stop(alarm)
    case .lead(let position):
      guard let keys = takeover.keys else { preconditionFailure("a claim has begun the clock for keys") }
      return try lead(position, keys, file)
    }
    return .again(after: .zero)
  }

  private func silent() {
    // A node that begins a cluster has no leader to miss.
    if let leaver { onEvent(.leaderLeft(leaver)) } else if step.position.term > 0 { onEvent(.leaderSilent) }
    board.change { $0.leader = nil }
  }

  /// Returns the next action. Returns `nil` if the pending action must wait longer.
  private func next(_ takeover: inout Takeover) -> Takeover.Action? {
    let (position, now) = (step.position, clock.now)
    guard let pending else { return takeover.ticked(at: now, position: position) }
    guard now >= pending.earliest else { return nil }
    switch pending.action {
    case .inspect: return takeover.inspected(try? log.state(), position: position, at: clock.now)
    case .read(let sequence, _): return takeover.found(try? log.read(sequence), at: clock.now)
    case .publish(let record, _):
      let outcome = log.publish(record)
      noteClaim(outcome)
      return takeover.published(outcome, at: clock.now)
    case .wait, .compare, .catchUp, .lead, .stop: preconditionFailure("not an action to wait for")
    }
  }

  /// Reports a takeover that has no answer for 10 s, and then once a minute. NATS may refuse all records, for example
  /// because its disk is full.
  private func noteClaim(_ outcome: PublishOutcome) {
    guard case .unknown(let reason) = outcome else {
      claimReports.end()
      board.change { $0.end { if case .takeoverRefused = $0 { true } else { false } } }
      return
    }
    board.change { status in
      status.unknown += 1
      status.failure = .takeoverRefused(reason: reason)
    }
    if claimReports.isDue(at: clock.now, after: .seconds(10), every: .seconds(60)) {
      onEvent(.takeoverUnknown(reason: reason))
    }
  }

  /// This node has won. Writes the position of the term's first record.
  private func lead(
    _ position: LogPosition, _ keys: KeyClock, _ file: any ReplicaFile
  ) throws(ReplicaError) -> Turn {
    try file.setPosition(position)
    board.change { status in
      status.role = .leader
      status.move(to: position)
      status.leader = node
      status.takeovers += 1
      status.failure = nil
    }
    onEvent(.leads(position))
    self.file = nil
    return .ended(.leads(position, keys, file))
  }

  /// Runs the migrations that this version knows and the file lacks, each after a record of the log. A new leader does
  /// this before it serves.
  /// - Returns: False after the end of the leadership.
  public static func migrate(
    _ file: any ReplicaFile, _ journal: LeaderJournal, onEvent: (NodeEvent) -> Void
  ) -> Bool {
    do throws(ReplicaError) {
      for name in try file.missingMigrations {
        guard case .commit(let position) = journal.decide(.schema(name)) else { return false }
        try file.migrate(name, position: position)
        journal.committed()
        onEvent(.migrated(name))
      }
      return true
    } catch {
      onEvent(.fileFailed(reason: "\(error)"))
      journal.commitFailed()
      return false
    }
  }

  /// Stores the position of the record that begins the cluster, before this node publishes it. The log accepts one such
  /// record. A node that dies before it knows the outcome compares the position with the log after its restart.
  private func claim(_ record: LogRecord, _ file: any ReplicaFile) throws(ReplicaError) {
    let position = LogPosition(
      generation: step.position.generation, term: record.term, sequence: record.sequence, gid: record.gid)
    if try file.position != position { try file.setPosition(position) }
  }

  func stop(_ alarm: Alarm) -> Turn {
    if phase.isFounding, case .recreated = alarm {
      // The file has nothing of the deleted log.
      restart()
      return .again(after: Self.pause)
    }
    onEvent(.alarm(alarm))
    board.change { $0.raise(alarm) }
    file?.close()
    file = nil
    return .ended(.alarm(alarm))
  }
}
