// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCommands
import RelayState
import ServiceLifecycle

/// Serves clients after the relay has started, and drains at a graceful shutdown, also during the start.
struct RelayService: Service, CustomStringConvertible {
  let description = "relay"
  let core: Core
  let start: ServerStart
  /// The time for which `/ready` answers 503 before the relay closes sessions.
  let drainDelay: Duration
  let deadline: DrainDeadline
  let log: Logger
  /// Called when the relay is ready.
  let isReady: @Sendable () -> Void

  func run() async throws {
    let hasStarted = try await start.wait()
    if hasStarted {
      isReady()
      try? await gracefulShutdown()  // throws if the task is cancelled, which also ends the service
    }
    let delay = hasStarted && !Task.isCancelled ? drainDelay : .zero
    // A separate task is not cancelled, so that clients always get their `bye`.
    await Task { await drain(after: delay) }.value
  }

  /// Ends the service in these steps. A deadline limits the waits of steps 3 and 5.
  ///
  /// 1. `/ready` answers 503 for the delay, so that a load balancer sends new clients to other relays.
  /// 2. The relay refuses new sessions, asks every client to reconnect, and ends the streams.
  /// 3. The relay waits until the last session has ended.
  /// 4. It closes the listening socket.
  /// 5. It waits until every HTTP request has an answer.
  private func drain(after delay: Duration) async {
    await core.retire()
    if delay > .zero {
      log.notice("not ready", metadata: ["delay": "\(delay)"])
      try? await Task.sleep(for: delay)
    }
    let deadline = deadline.begin()
    await core.drain()
    await core.waitForSessions(until: deadline)
    await core.closeListener()
    await core.waitForExchanges(until: deadline)
  }
}
