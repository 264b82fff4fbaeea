// SPDX-License-Identifier: Apache-2.0

/// A state of the log that no node may repair by itself. The node stops, except for ``lostTail(_:_:)`` and
/// ``missingSnapshot(founder:)``. The text explains the next step to the operator.
public enum Alarm: Error, Hashable, Sendable {
  /// The log was deleted, and perhaps created again.
  case recreated(LogPosition, LogState)
  /// The log has lost records that this node's file contains. This alarm ends by itself when the log has them again,
  /// because another NATS server leads.
  case lostTail(LogPosition, LogState)
  /// The log has lost records of this leader, and another node has written others in their place.
  case diverged(LogPosition, term: UInt64)
  case unknownSchema(String, sequence: UInt64)
  /// A newer version of the program has made this node's file, or the newest snapshot.
  case newerSchema(snapshot: String?)
  case invalidRecord(RecordError)
  /// A record has a term that no record of kind `term` has begun.
  case unexpectedTerm(UInt64, sequence: UInt64)
  /// A record fits neither this node's file nor a snapshot.
  case conflict(UInt64)
  /// The log has stored a record at another sequence than the expected one.
  case misplaced(expected: UInt64, stored: UInt64)
  /// The file has data, but it has never followed a log.
  case unrelatedFile
  /// The log is empty, but a snapshot of an earlier log exists.
  case orphanedSnapshot(LogPosition, LogState)
  /// The log has records, but no snapshot, and there is no leader that publishes one. This alarm ends by itself when
  /// there is a snapshot.
  case missingSnapshot(founder: String?)

  /// A short name, safe as a metric label.
  public var code: String {
    switch self {
    case .recreated: "recreated"
    case .lostTail: "lost_tail"
    case .diverged: "diverged"
    case .unknownSchema: "unknown_schema"
    case .newerSchema: "newer_schema"
    case .invalidRecord: "invalid_record"
    case .unexpectedTerm: "unexpected_term"
    case .conflict: "conflict"
    case .misplaced: "misplaced"
    case .unrelatedFile: "unrelated_file"
    case .orphanedSnapshot: "orphaned_snapshot"
    case .missingSnapshot: "missing_snapshot"
    }
  }
}

extension Alarm: CustomStringConvertible {
  private static let reset =
    "Stop all nodes, choose the one with the newest data, and run `stillwire cluster reset` on it. Then move the data "
    + "folders of the other nodes away, and start all nodes: they load the data of the chosen one."

  private static let upgrade =
    "Upgrade this node: install the version of the leader, and restart the node. Its data folder stays."

  public var description: String {
    switch self {
    case .recreated(let position, let state) where state.generation == 0:
      "The log was deleted. This node's file ends at \(position). " + Self.reset
    case .recreated(let position, let state):
      "The log was created again: its generation is \(state.generation), but this node's file ends at \(position). "
        + Self.reset
    case .lostTail(let position, let state):
      "The log ends at sequence \(state.last), but this node's file ends at \(position). The NATS servers have lost "
        + "records. If all NATS servers run, and none of them leads with these records: " + Self.reset
    case .diverged(let position, let term):
      "This node led, and its file ends at \(position), but the log has a record of term \(term) there. The NATS "
        + "servers have lost records, and another node has continued. Restart this node: it keeps its file beside the "
        + "database, and loads the cluster's data."
    case .unknownSchema(let name, let sequence):
      "Record \(sequence) requires the migration \(name), which this version does not know. " + Self.upgrade
    case .newerSchema(let snapshot):
      (snapshot.map { "The snapshot \($0) has" } ?? "This node's file has")
        + " tables of a newer version, which this version does not know. " + Self.upgrade
    case .invalidRecord(let error):
      "\(error). Check the NATS permissions: only nodes of this version may write to the log. "
        + Self.reset
    case .unexpectedTerm(let term, let sequence):
      "Record \(sequence) has term \(term), which no record has begun. Check the NATS permissions: only nodes may "
        + "write to the log. " + Self.reset
    case .conflict(let sequence):
      "The rows of record \(sequence) fit neither this node's file nor the newest snapshot. Compare the tables of the "
        + "nodes. Keep the leader running, and make a new snapshot of it."
    case .misplaced(let expected, let stored):
      "The log stored a record at sequence \(stored) instead of \(expected). Check that the stream accepts expected "
        + "sequences."
    case .unrelatedFile:
      "This node's file has data, but it does not belong to this cluster. To begin the cluster with this data, run "
        + "`stillwire cluster reset` here. To join the cluster, move this node's data folder away."
    case .orphanedSnapshot(let position, let state):
      "The log of generation \(state.generation) is empty, but a snapshot at \(position) exists. The log was deleted. "
        + Self.reset
    case .missingSnapshot(let founder):
      "The log has records, but no snapshot, and no node leads. "
        + (founder.map { "Start the node \($0), which began the log. If its data is lost: " } ?? "") + Self.reset
    }
  }
}
