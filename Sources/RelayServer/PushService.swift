// SPDX-License-Identifier: Apache-2.0
import RelayPush
import ServiceLifecycle

/// Runs the push worker after the relay has started. At a graceful shutdown it waits for the pushes in progress.
struct PushService: Service, CustomStringConvertible {
  let description = "push worker"
  let worker: PushWorker
  let start: ServerStart
  let deadline: DrainDeadline

  func run() async throws {
    guard try await start.waitForService() else { return }
    await withTaskGroup { tasks in
      tasks.addTask { await worker.run() }
      try? await gracefulShutdown()  // throws if the task is cancelled, which also ends the service
      await worker.retire(by: deadline.begin())
      tasks.cancelAll()
    }
  }
}
