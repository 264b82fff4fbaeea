// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayStore

/// What has happened in a course, to see that it was not much ado about nothing.
struct Tally: Sendable {
  enum Event: String, CaseIterable, Sendable {
    case message, duplicate, recovery, noRecovery, newMember
    /// A push was known to be needed with the message, or when something that was waited for was over.
    case jobAtOnce, jobAfterWait
    case pushed, pushedAgain, pushRefused, pushUnanswered
    case restart
    /// With something that was to be pushed and no job yet.
    case restartInWait
    case crashAtRest, crashAtCommit, crashAtHanding
    /// A crash with a request of which nobody knows how it ended.
    case crashInDoubt
    /// A crash that took marks with it.
    case marksLost
    /// A message that was stored, and of which nobody was told before the crash.
    case untold
    case closedGhost
    case reportApplied, reportIgnored
    case focusShown, focusHidden
    /// The reply to a `send` named somebody.
    case quiet
    case notified, pushedAnyway
    case delivery, deliveryHidden
    /// A push whose hold was over waited for its recipient, because the recipient had come back.
    case heldWaits
    /// A push that told of several messages.
    case digest
  }

  /// Of an event, or a name that has one of these before it.
  private(set) var counts: [String: Int] = [:]

  subscript(event: Event) -> Int { counts[event.rawValue] ?? 0 }

  mutating func count(_ event: Event) { count(event.rawValue) }
  mutating func count(asked name: String) { count("ask \(name)") }
  mutating func count(refused code: String) { count("refused \(code)") }
  mutating func count(cancelled note: String) { count("cancelled \(note)") }
  mutating func count(_ code: Reason.Code) { count("reason \(code.rawValue)") }
  mutating func count(_ state: JobState) { count("job \(state.rawValue)") }

  /// What is counted by name and has to happen: each request, each way in which a job stands, and each reason for which
  /// there is a job. Own messages, those without a push, waits and users without a device leave none.
  static let names =
    [
      "join", "leave", "send", "received", "read", "activity", "history", "edit", "delete", "notify", "register",
      "forget", "focus", "filter", "prefer", "block", "unblock", "watch",
    ].map { "ask \($0)" }
    + [JobState.waiting, .held, .merged, .ready, .sending, .retrying, .sent, .expired, .dead].map {
      "job \($0.rawValue)"
    }
    + [
      Reason.Code.blocked, .read, .received, .deleted, .expired, .muted, .notAllowed, .focused, .filtered,
      .quietHours, .nothingAgainst, .levelLowered,
    ].map { "reason \($0.rawValue)" } + ["refused forbidden", "refused not_found"]

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
