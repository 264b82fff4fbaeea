// SPDX-License-Identifier: Apache-2.0

/// Compares the state of a log with the position of a node.
///
/// A NATS server that has just become the leader of its servers may answer before it has loaded all records. So a log
/// without the node's records is an alarm only if several answers in a row show it.
///
/// A server of NATS 2.9.10 may also lead for good although it lacks records: it has stopped storing them after a restart,
/// and the others elect it. The node then asks for another leader, because a server with all records may be left.
struct LogCheck: Sendable {
  enum Result: Hashable, Sendable {
    case fits
    /// Read the state again after ``pause``.
    case again
    case alarm(Alarm)
  }

  /// The number of such answers after which the loss is certain: 5 s.
  static let patience = 10
  static let pause = Duration.milliseconds(500)
  /// The numbers of such answers after which the node asks for another server as the leader of the log.
  private static let elections: Set<Int> = [2, 6]

  private(set) var doubts = 0
  /// True if another server may have the records that the newest answer lacked.
  var needsElection: Bool { Self.elections.contains(doubts) }

  mutating func compare(_ state: LogState, with position: LogPosition) -> Result {
    let alarm: Alarm
    switch state.generation {
    case position.generation:
      if state.last >= position.sequence {
        doubts = 0
        return .fits
      }
      alarm = .lostTail(position, state)
    // The server does not know the log.
    case 0: alarm = .recreated(position, state)
    // The caller has compared the record at the position.
    default:
      alarm = .recreated(position, state)
      if state.last >= position.sequence { return .alarm(alarm) }
    }
    doubts += 1
    return doubts < Self.patience ? .again : .alarm(alarm)
  }
}
