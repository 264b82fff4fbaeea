// SPDX-License-Identifier: Apache-2.0

/// Bounds the number of reports about a condition that lasts.
package struct Reminder: Sendable {
  /// The time of the next report. Is `nil` without the condition.
  package private(set) var next: ContinuousClock.Instant?

  package init() {}

  /// Returns true if the condition must be reported now: after `delay`, and then once in `interval`.
  package mutating func isDue(
    at now: ContinuousClock.Instant, after delay: Duration = .zero, every interval: Duration
  ) -> Bool {
    let due = next ?? now + delay
    next = now < due ? due : now + interval
    return now >= due
  }

  /// Puts off the next report of a condition that lasts.
  package mutating func postpone(to time: ContinuousClock.Instant) { if next != nil { next = time } }

  /// The condition has ended.
  package mutating func end() { next = nil }
}
