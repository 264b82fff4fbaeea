// SPDX-License-Identifier: Apache-2.0

/// Compares the state of a log with the position of a node.
///
/// A NATS server that has just become the leader of its servers may answer before it has loaded all records. So a log
/// without the node's records is an alarm only if several answers in a row show it.
///
/// A server of NATS 2.9.10 may also lead for good although it lacks records: it has stopped storing them after a restart,
/// and the others elect it. The nodes then ask for another leader, because a server with all records may be left. Each
/// node asks at random times: a second request at the same moment would move the lead back.
struct LogCheck: Sendable {
  enum Comparison: Hashable, Sendable {
    case fits
    /// Read the state again after ``pause``.
    case again
    case alarm(Alarm)
  }

  static let pause = Duration.milliseconds(500)
  /// The number of such answers after which the log was certainly deleted: 5 s.
  static let deletionPatience = 10
  /// The number of such answers after which records are probably lost: 20 s. The nodes ask for several leaders before.
  static let lossPatience = 40
  /// The average time between two requests of a node for another leader of the log.
  static let electionInterval = Duration.seconds(4)

  private var doubts = 0
  /// True if the newest answers lacked records of the same log, and false if they were about another log or none.
  private var isLoss = false
  /// True if another server may have the records that the newest answers lacked.
  var needsElection: Bool { doubts > 1 }

  mutating func compare(_ state: LogState, with position: LogPosition) -> Comparison {
    let isSameLog = state.generation == position.generation
    if isSameLog, state.last >= position.sequence {
      doubts = 0
      return .fits
    }
    let alarm: Alarm = isSameLog ? .lostTail(position, state) : .recreated(position, state)
    // The caller has compared the record at the position with that of the other log.
    if !isSameLog, state.generation != 0, state.last >= position.sequence { return .alarm(alarm) }
    // An answer of one kind says nothing about the other kind.
    if isLoss != isSameLog { doubts = 0 }
    isLoss = isSameLog
    doubts += 1
    return doubts < (isLoss ? Self.lossPatience : Self.deletionPatience) ? .again : .alarm(alarm)
  }
}
