// SPDX-License-Identifier: Apache-2.0

/// Replaces the node's file by the newest snapshot.
extension ClusterNode {
  func load() throws(ReplicaError) -> Turn {
    let manifest: SnapshotManifest
    do throws(LogUnavailable) {
      guard let newest = try log.newest() else {
        let first = try log.read(1)
        let state = try log.state()
        logAnswered()
        if state.last == 0 {
          // The log is another one.
          phase.take(.loaded)
          restart()
        }
        return waitForSnapshot(first)
      }
      waitReports.end()
      board.change { status in
        status.clearAlarm()
        status.failure = .loadingSnapshot(newest)
      }
      manifest = newest
      onEvent(.loads(manifest))
    } catch {
      return logFailed(error)
    }
    let result = try transfer.load(manifest) { () throws(ReplicaError) in try install() }
    switch result {
    case .failure(let error): return logFailed(error)
    case .success(.replaced): return .again(after: .zero)
    case .success(.busy): return .again(after: Self.pause)
    case .success(.rejected(.newerSchema)): return stop(.newerSchema(snapshot: manifest.id))
    case .success(.rejected(let fault)):
      onEvent(.snapshotRejected(id: manifest.id, fault))
      board.change { $0.failure = .snapshotRejected(id: manifest.id, fault) }
      // Each attempt downloads the copy.
      rejectionPause = min(rejectionPause * 2, .seconds(300))
      return .again(after: rejectionPause)
    case .success(.valid): break
    }
    logAnswered()
    phase.take(.loaded)
    rejectionPause = Self.minRejectionPause
    restart()
    board.change { $0.snapshotsLoaded += 1 }
    onEvent(.loaded(manifest))
    return .again(after: .zero)
  }

  /// Waits for the leader's snapshot. Without a leader, this raises an alarm, which ends as soon as there is a snapshot.
  /// - Parameter first: The record that began the log.
  func waitForSnapshot(_ first: LogRead) -> Turn {
    board.change { $0.failure = .waitingForSnapshot }
    if waitReports.next == nil { onEvent(.waitsForSnapshot) }
    guard waitReports.isDue(at: clock.now, after: Self.patience, every: Self.patience) else {
      return .again(after: Self.pause)
    }
    var founder: Leader?
    if case .record(let record) = first, case .term(let leader) = record.content { founder = leader }
    let alarm = Alarm.missingSnapshot(founder: founder?.name)
    onEvent(.alarm(alarm))
    board.change { $0.raise(alarm) }
    return .again(after: Self.pause)
  }

  /// Replaces the file by the checked copy. The next turn opens it.
  private func install() throws(ReplicaError) {
    file?.close()
    file = nil
    if mustKeep { onEvent(.kept(path: try folder.keep())) }
    try folder.install()
    mustKeep = false
  }

  /// Publishes a copy of a file whose log never had a snapshot. Other nodes can only join from it. Blocks until it is
  /// done. Any other leader does not wait for the store of snapshots, whose servers may be electing their leader.
  /// - Parameter isOver: Returns true after the end of the leadership.
  /// - Returns: False if the node shuts down or leads no more.
  public static func publishFirstSnapshot(
    _ transfer: SnapshotTransfer, of file: any ReplicaFile, at position: LogPosition, board: NodeStatusBoard,
    isOver: () -> Bool = { false }, onEvent: (NodeEvent) -> Void
  ) -> Bool {
    // After a failure to read the file, the store of snapshots decides.
    if (try? file.hasSnapshot) == true { return true }
    var isFirstFailure = true
    while !isOver() {
      do throws(LogUnavailable) {
        if let newest = try transfer.log.newest()?.position, try transfer.log.isSame(newest, position) {
          board.change { $0.end { if case .snapshotFailed = $0 { true } else { false } } }
          try? file.noteSnapshot()
          return true
        }
        let manifest = try transfer.publish()
        board.change { $0.snapshotsPublished += 1 }
        onEvent(.published(manifest))
      } catch {
        if isFirstFailure { onEvent(.snapshotFailed(reason: error.reason)) }
        isFirstFailure = false
        board.change { $0.failure = .snapshotFailed(reason: error.reason) }
        guard transfer.clock.wait(pause) else { return false }
      }
    }
    return false
  }
}
