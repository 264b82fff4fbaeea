// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import RelayStore

/// Counts the events of a run, to check that the run has covered them.
struct Tally: Sendable {
  enum Event: String, CaseIterable, Sendable {
    case message, duplicate, recovery, noRecovery, newMember, added, removed
    /// A job made together with its message, or after a wait.
    case jobAtOnce, jobAfterWait
    case pushed, pushedAgain, pushRefused, pushUnanswered
    case restart
    /// A restart with a push that was needed and had no job yet.
    case restartInWait
    case crashAtRest, crashAtCommit, crashAtHanding
    /// A crash with a request whose result is unknown.
    case crashInDoubt
    /// A crash that lost marks.
    case marksLost
    /// A stored message whose sender got no reply before the crash.
    case unacknowledged
    case closedGhost
    case reportApplied, reportIgnored
    /// A number of a device whose clock was ahead gave way to a lower one.
    case clockGaveWay
    /// A client received a frame late, because its line was slow.
    case lateFrame
    /// A client sent a request twice before the first reply.
    case repeated
    /// The relay replaced the reply to the first of two joins.
    case superseded
    case focusShown, focusHidden
    /// The reply to a `send` named a silenced user.
    case silenced
    case notified, pushedAnyway
    case delivery, deliveryHidden
    /// A push waited for a recipient who had returned when the hold was over.
    case heldWaits
    /// A user who was online before a start, and had not returned yet, was shown as online.
    case awaitedShown
    /// A push contained several messages.
    case digest
    /// A push set only the badge.
    case badgeSet
    /// A push removed notifications.
    case withdrawn
    /// A push changed or removed the newest alert of a phone.
    case newestChanged
    /// A client that returned got the changes that it had missed.
    case changesRecovered
  }

  /// The counts by the name of an event, or by a prefix and a name.
  private(set) var counts: [String: Int] = [:]

  subscript(event: Event) -> Int { counts[event.rawValue] ?? 0 }

  mutating func count(_ event: Event) { count(event.rawValue) }
  mutating func count(requested name: String) { count("ask \(name)") }
  mutating func count(refused code: String) { count("refused \(code)") }
  mutating func count(cancelled note: String) { count("cancelled \(note)") }
  mutating func count(_ code: Reason.Code) { count("reason \(code.rawValue)") }
  mutating func count(_ text: EntryText) { count("text \(text.rawValue)") }
  mutating func count(_ state: Call.State) { count("call \(state.rawValue)") }
  mutating func count(_ state: JobState) { count("job \(state.rawValue)") }

  /// The names that must be counted: each request, each state of a job, and each reason of a job. The sender's own
  /// messages, messages without a push, waits and users without a device make no job.
  static let names =
    [
      "join", "leave", "send", "received", "read", "activity", "history", "edit", "delete", "react", "unreact", "pin",
      "unpin", "notify", "create", "add", "remove", "roles", "answer", "decline", "hangup", "register", "forget",
      "focus", "filter", "prefer", "block", "unblock", "watch", "open", "dismiss",
    ].map { "ask \($0)" }
    + [JobState.waiting, .held, .merged, .ready, .sending, .retrying, .sent, .expired, .dead].map {
      "job \($0.rawValue)"
    }
    + Call.State.allCases.map { "call \($0.rawValue)" }
    + EntryText.allCases.map { "text \($0.rawValue)" }
    + [
      Reason.Code.blocked, .read, .received, .deleted, .expired, .muted, .notAllowed, .focused, .filtered,
      .quietHours, .nothingAgainst, .levelLowered,
    ].map { "reason \($0.rawValue)" } + ["refused conflict", "refused forbidden", "refused not_found"]

  private mutating func count(_ name: String) { counts[name, default: 0] += 1 }

  mutating func add(_ other: Tally) { counts.merge(other.counts, uniquingKeysWith: +) }

  mutating func count(_ handed: RecordingGateway.Handed) {
    switch handed.answer {
    case .sent: count(.pushed)
    case .retry: count(.pushedAgain)
    case .forget, .dead: count(.pushRefused)
    case .none: count(.pushUnanswered)
    }
  }
}
