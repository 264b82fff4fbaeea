// SPDX-License-Identifier: Apache-2.0

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
  }

  private(set) var counts: [Event: Int] = [:]

  subscript(event: Event) -> Int { counts[event] ?? 0 }

  mutating func count(_ event: Event, _ times: Int = 1) { counts[event, default: 0] += times }

  mutating func add(_ other: Tally) { for (event, count) in other.counts { self.count(event, count) } }
}
