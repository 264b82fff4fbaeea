// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The time at which a relay that shuts down no longer waits for sessions, requests and pushes.
///
/// The services that drain share one deadline, so that their waits together are limited.
final class DrainDeadline: Sendable {
  /// The timeout for all waits together. The relay closes all sessions within 5 s, closes the socket of a session 5 s
  /// later, and waits 10 s for the body of a request.
  static let patience = Duration.seconds(20)

  private let end = Mutex<ContinuousClock.Instant?>(nil)

  /// Returns the deadline. The first call sets it.
  /// - Parameter patience: The timeout for all waits together.
  func begin(
    patience: Duration = DrainDeadline.patience, now: ContinuousClock.Instant = .now
  ) -> ContinuousClock.Instant {
    end.withLock { end in
      let deadline = end ?? now + patience
      end = deadline
      return deadline
    }
  }
}
