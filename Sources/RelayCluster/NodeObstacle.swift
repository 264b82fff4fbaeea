// SPDX-License-Identifier: Apache-2.0

/// The reason why a node cannot follow, take over or serve now. It ends by itself, unlike an ``Alarm``.
public enum NodeObstacle: Hashable, Sendable {
  /// `reason` is the error of NATS.
  case logUnavailable(reason: String)
  /// NATS does not accept the record of a takeover.
  case takeoverRefused(reason: String)
  case loadingSnapshot(SnapshotManifest)
  case waitingForSnapshot
  /// The newest snapshot is not usable. The node tries again, or loads a newer one.
  case snapshotRejected(id: String, SnapshotFault)
  /// A leader cannot publish the first snapshot of the log, and serves nobody before it has.
  case snapshotFailed(reason: String)
  /// The file cannot be read or written.
  case fileFailed(reason: String)
  /// The number of records that the file lacks.
  case behind(UInt64)
  /// The node leads, and waits until the log proves it.
  case unproved

  /// A short name, safe as a label.
  public var code: String {
    switch self {
    case .logUnavailable: "log_unavailable"
    case .takeoverRefused: "takeover_refused"
    case .loadingSnapshot: "loading_snapshot"
    case .waitingForSnapshot: "no_snapshot"
    case .snapshotRejected: "snapshot_rejected"
    case .snapshotFailed: "snapshot_failed"
    case .fileFailed: "file_failed"
    case .behind: "behind"
    case .unproved: "no_proof"
    }
  }
}

extension NodeObstacle: CustomStringConvertible {
  public var description: String {
    switch self {
    case .logUnavailable(let reason): "no answer from the log: \(reason)"
    case .takeoverRefused(let reason): "the log does not accept a new leader: \(reason)"
    case .loadingSnapshot(let manifest): "the node loads the snapshot \(manifest.id), \(manifest.size) bytes"
    case .waitingForSnapshot: "the log has no snapshot yet: the node waits for the node that began the cluster"
    case .snapshotRejected(let id, let fault): "the snapshot \(id) is not usable: \(fault)"
    case .snapshotFailed(let reason): "the node leads, but cannot publish the first snapshot: \(reason)"
    case .fileFailed(let reason): "the node cannot use its file: \(reason)"
    case .behind(let count): "the node is \(count) records behind the leader"
    case .unproved: "the node leads, but the log has not confirmed it, so the node serves nobody"
    }
  }
}
