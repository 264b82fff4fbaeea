// SPDX-License-Identifier: Apache-2.0

/// Performs asynchronous work in the order of the calls, one at a time.
package actor SerialTasks {
  private var last: Task<Void, Never>?

  package init() {}

  /// Performs the work after all earlier work has ended, and returns its result. Cancellation of the caller's task
  /// cancels the work.
  package func perform<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let earlier = last
    let task = Task {
      await earlier?.value
      try Task.checkCancellation()
      return try await work()
    }
    last = Task { _ = await task.result }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
