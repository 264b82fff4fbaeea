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
  enum Result: Hashable, Sendable {
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
  private var isDeletion = false
  /// True if another server may have the records that the newest answers lacked.
  var needsElection: Bool { doubts > 1 }

  mutating func compare(_ state: LogState, with position: LogPosition) -> Result {
    let alarm: Alarm
    var patience = Self.deletionPatience
    switch state.generation {
    case position.generation:
      if state.last >= position.sequence {
        doubts = 0
        return .fits
      }
      alarm = .lostTail(position, state)
      patience = Self.lossPatience
    // The server does not know the log.
    case 0: alarm = .recreated(position, state)
    // The caller has compared the record at the position.
    default:
      alarm = .recreated(position, state)
      if state.last >= position.sequence { return .alarm(alarm) }
    }
    // A server that does not know the log yet says nothing about the records, and the other way round.
    if isDeletion != (state.generation != position.generation) { doubts = 0 }
    isDeletion = state.generation != position.generation
    doubts += 1
    return doubts < patience ? .again : .alarm(alarm)
  }
}
