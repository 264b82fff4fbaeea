// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The time at which a relay that shuts down no longer waits for sessions, requests and pushes.
///
/// The services that drain share it, so that their waits together are bounded.
final class DrainDeadline: Sendable {
  /// The time for all waits together: the relay closes all sessions within 5 s, cuts a session 5 s later, and gives a
  /// body 10 s to arrive.
  static let patience = Duration.seconds(20)

  private let end = Mutex<ContinuousClock.Instant?>(nil)

  /// Returns the deadline. The first call sets it.
  func begin(now: ContinuousClock.Instant = .now) -> ContinuousClock.Instant {
    end.withLock { end in
      let deadline = end ?? now + Self.patience
      end = deadline
      return deadline
    }
  }
}
