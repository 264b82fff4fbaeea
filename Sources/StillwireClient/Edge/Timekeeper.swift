// SPDX-License-Identifier: Apache-2.0

/// Where a client has its time from.
package protocol Timekeeper: Sendable {
  /// Since a moment of its own choice.
  var now: Duration { get }
  /// Returns when that time has come; throws when the task is cancelled.
  func sleep(until due: Duration) async throws
}

/// The time of a clock, since this was made.
package struct ClockTimekeeper<C: Clock<Duration>>: Timekeeper {
  let clock: C
  let start: C.Instant

  package init(_ clock: C) {
    self.clock = clock
    start = clock.now
  }

  package var now: Duration { start.duration(to: clock.now) }

  package func sleep(until due: Duration) async throws {
    try await clock.sleep(until: start.advanced(by: due), tolerance: nil)
  }
}
