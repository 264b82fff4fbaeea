// SPDX-License-Identifier: Apache-2.0
import RelayPush
import ServiceLifecycle

/// Hands push jobs to their gateways once the relay has started. At a graceful shutdown it waits for the pushes that are
/// under way.
struct PushService: Service, CustomStringConvertible {
  let description = "push worker"
  let worker: PushWorker
  let start: Task<Void, any Error>
  let deadline: DrainDeadline

  func run() async throws {
    try await start.value
    await withTaskGroup { tasks in
      tasks.addTask { await worker.run() }
      try? await gracefulShutdown()  // throws when the task is cancelled, which ends the service as well
      await worker.retire(by: deadline.begin())
      tasks.cancelAll()
    }
  }
}
