// SPDX-License-Identifier: Apache-2.0

/// An event of a node, for the operator's log.
public enum NodeEvent: Hashable, Sendable {
  case follows(LogPosition)
  /// A record of the log began this term.
  case leaderChanged(Leader, term: UInt64)
  /// No heartbeat has arrived in time. The node begins a takeover.
  case leaderSilent
  /// The leader has announced that it leads no more.
  case leaderLeft(Leader)
  case lostElection
  case leads(LogPosition)
  case logUnavailable(reason: String)
  case logAvailable
  /// The log has records, but no node has published a snapshot.
  case waitsForSnapshot
  case loads(SnapshotManifest)
  case loaded(SnapshotManifest)
  case snapshotRejected(id: String, SnapshotFault)
  case published(SnapshotManifest)
  case snapshotFailed(reason: String)
  case conflict(sequence: UInt64, reason: String)
  /// The server that leads the log lacks records that the file has.
  case electsServer(LogPosition)
  /// The log has another record, of this term, at the position of the file.
  case diverged(LogPosition, term: UInt64)
  /// The node has kept a file that it replaces.
  case kept(path: String)
  /// The number of records of a deposed leader that the node skipped.
  case skipped(Int)
  case fileFailed(reason: String)
  case migrated(String)
  /// The log has not answered the publish of a takeover for a long time.
  case takeoverUnknown(reason: String)
  /// The outcome of the leader's publish is unknown. The writer waits.
  case publishUnknown(reason: String)
  /// The log has decided a publish whose outcome was unknown.
  case publishDecided
  /// The process was paused, the log does not answer, or the node has just begun to lead. Clients wait until the log
  /// proves the leadership.
  case needsProof
  case proved
  case leadershipEnded(LeaderEnd)
  case alarm(Alarm)
  case warning(NodeWarning)
  case warningEnded(NodeWarning)

  public enum Level: Sendable { case info, notice, warning, error }

  public var level: Level {
    switch self {
    case .follows, .loads, .published, .needsProof, .proved, .lostElection: .info
    case .leaderChanged, .leaderSilent, .leaderLeft, .leads: .notice
    case .logAvailable, .loaded, .migrated, .publishDecided, .warningEnded: .notice
    case .waitsForSnapshot, .logUnavailable, .snapshotFailed, .skipped, .publishUnknown, .kept, .electsServer: .warning
    case .warning: .warning
    case .leadershipEnded(let end): end.level
    case .snapshotRejected, .conflict, .diverged, .fileFailed, .takeoverUnknown, .alarm: .error
    }
  }
}

extension NodeEvent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .follows(let position): "follows the log from \(position)"
    case .leaderChanged(let leader, let term): "\(leader.name) leads term \(term) at \(leader.url)"
    case .leaderSilent: "the leader is silent: this node begins a takeover"
    case .leaderLeft(let leader): "\(leader.name) leads no more: this node begins a takeover"
    case .lostElection: "another node has written to the log first: this node goes on following"
    case .leads(let position): "this node leads term \(position.term), from sequence \(position.sequence)"
    case .logUnavailable(let reason): "no answer from the log: \(reason)"
    case .logAvailable: "the log answers again"
    case .waitsForSnapshot: "the log has no snapshot yet: this node waits for the node that began the cluster"
    case .loads(let manifest): "loads snapshot \(manifest.id) at \(manifest.position), \(manifest.size) bytes"
    case .loaded(let manifest): "loaded snapshot \(manifest.id) at \(manifest.position)"
    case .snapshotRejected(let id, let fault): "snapshot \(id) is not usable: \(fault)"
    case .published(let manifest):
      "published snapshot \(manifest.id) at \(manifest.position), \(manifest.size) bytes"
    case .snapshotFailed(let reason): "could not publish a snapshot: \(reason)"
    case .conflict(let sequence, let reason): "record \(sequence) does not fit the file: \(reason)"
    case .diverged(let position, let term):
      "the file ends at \(position), but the log has another record of term \(term) there: this node loads the newest "
        + "snapshot"
    case .electsServer(let position):
      "the log ends before \(position): this node asks the NATS servers for another leader of the log"
    case .kept(let path): "keeps the file that the snapshot replaces: \(path)"
    case .skipped(let count): "skipped \(count) records of a deposed leader"
    case .fileFailed(let reason): "the file did not take records: \(reason)"
    case .migrated(let name): "ran the migration \(name)"
    case .takeoverUnknown(let reason): "the log does not accept a new leader: \(reason)"
    case .publishUnknown(let reason): "the log did not answer a publish: \(reason). Writes wait"
    case .publishDecided: "the log answers again: writes continue"
    case .needsProof: "clients wait until the log confirms that this node leads"
    case .proved: "the log confirms that this node leads"
    case .leadershipEnded(let end): "this node leads no more: \(end)"
    case .alarm(let alarm): "alarm \(alarm.code): \(alarm)"
    case .warning(let warning): "\(warning.code): \(warning)"
    case .warningEnded(let warning): "\(warning.code) has ended"
    }
  }
}
