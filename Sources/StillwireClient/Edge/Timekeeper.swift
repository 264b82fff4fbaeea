// SPDX-License-Identifier: Apache-2.0

/// The source of a client's time. Tests supply their own.
package protocol Timekeeper: Sendable {
  /// The time since a start that the source chooses.
  var now: Duration { get }
  /// Returns at that time. Throws if the task is cancelled.
  func sleep(until due: Duration) async throws
}

/// The time of a clock since this value was made.
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
