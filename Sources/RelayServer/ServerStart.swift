// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCommands
import RelayIdentity
import RelayPush
import RelayState
import RelayStore
import ServiceLifecycle

/// The work between the opening of the database and the moment at which the relay is ready. The services of a
/// ``Server`` wait for it.
///
/// A shutdown ends it early. So does a damage of the database, whichever part has found it: many parts retry until the
/// store works again, but a damaged store does not.
final class ServerStart: Sendable {
  private let core: Core
  /// Returns false if the relay has retired first.
  private let work: Task<Bool, any Error>

  /// Begins at once.
  init(_ core: Core, _ worker: PushWorker, _ store: Store, log: Logger) {
    self.core = core
    work = Task {
      if let damage = store.listenToDamage({ _ in Task { await core.retire() } }) { throw StartupError("\(damage)") }
      let result: Result<Void, any Error>
      do {
        await worker.releaseEarlierClaims()
        result = .success(try await core.start())
      } catch {
        result = .failure(error)
      }
      // A later damage does not end the relay: the requests that need no damaged page still work.
      if let damage = store.listenToDamage({ log.error("\($0)") }) { throw StartupError("\(damage)") }
      do {
        try result.get()
        return true
      } catch is CancellationError {
        return false
      } catch {
        throw StartupError("the relay cannot start: \(error)")
      }
    }
  }

  /// Waits until the relay is ready. A graceful shutdown or a cancellation of the caller ends the start early. Throws
  /// ``StartupError``.
  /// - Returns: False if the start was ended early.
  func wait() async throws -> Bool {
    try await withTaskCancellationOrGracefulShutdownHandler {
      try await work.value
    } onCancelOrGracefulShutdown: { [core] in
      Task { await core.retire() }
    }
  }

  /// Waits until the relay is ready, for a service that does nothing before. If the start was ended early, waits until
  /// the service is shut down, because a service must not end before. Throws ``StartupError``.
  /// - Returns: False if the service must end now.
  func waitForService() async throws -> Bool {
    if try await wait() { return true }
    try? await gracefulShutdown()
    return false
  }
}
