// SPDX-License-Identifier: Apache-2.0

/// The reason why a node stopped leading.
public enum LeaderEnd: Hashable, Sendable {
  /// Another node leads.
  case deposed
  /// The log has removed a record before this node knew its outcome.
  case unknown
  case alarm(Alarm)
  /// The log contains a group that the file did not commit. The node applies it after its restart.
  case commitFailed
  /// The log has not confirmed for ``LeaderJournal/maxDoubt`` that this node leads. `reason` is the last failure of a
  /// publish.
  case unproved(reason: String?)
  /// The operator has requested it.
  case steppedDown
  /// The process ends.
  case shutDown

  public var level: NodeEvent.Level {
    switch self {
    case .steppedDown, .shutDown: .notice
    case .deposed, .unknown, .unproved: .warning
    case .alarm, .commitFailed: .error
    }
  }
}

extension LeaderEnd: CustomStringConvertible {
  public var description: String {
    switch self {
    case .deposed: "another node leads"
    case .unknown: "the log has removed a record before this node knew its outcome"
    case .alarm(let alarm): "alarm \(alarm.code): \(alarm)"
    case .commitFailed: "the file could not commit a group that the log contains"
    case .unproved(let reason):
      "the log has not confirmed for \(LeaderJournal.maxDoubt) that this node leads"
        + (reason.map { ": \($0)" } ?? "")
    case .steppedDown: "the operator has requested it"
    case .shutDown: "the process ends"
    }
  }
}
