// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCore
import ServiceLifecycle

/// Serves clients once the relay has started, and drains at a graceful shutdown.
struct RelayService: Service, CustomStringConvertible {
  let description = "relay"
  let relay: Relay
  let start: Task<Void, any Error>
  /// For how long `/ready` answers 503 before the relay closes sessions.
  let drainDelay: Duration
  let deadline: DrainDeadline
  let log: Logger
  /// Called when the relay is ready.
  let isReady: @Sendable () -> Void

  func run() async throws {
    try await start.value
    isReady()
    try? await gracefulShutdown()  // throws when the task is cancelled, which ends the service as well
    let delay = Task.isCancelled ? .zero : drainDelay
    // A task of its own is not cancelled: clients get their `bye` in any case.
    await Task { await drain(after: delay) }.value
  }

  /// In the order in which others notice: probes, new sessions, sessions, requests under way.
  private func drain(after delay: Duration) async {
    await relay.retire()
    if delay > .zero {
      log.notice("draining", metadata: ["delay": "\(delay)"])
      try? await Task.sleep(for: delay)
    }
    let deadline = deadline.begin()
    await relay.drain()
    await relay.waitForSessions(until: deadline)
    await relay.closeListener()
    await relay.waitForExchanges(until: deadline)
  }
}
