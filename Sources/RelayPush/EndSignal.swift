// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Lets a task wait until work has ended, without polling: the owner of the work signals each end.
///
/// One task waits at a time.
package final class EndSignal: Sendable {
  private let waiting = Mutex<AsyncStream<Void>.Continuation?>(nil)

  package init() {}

  /// Makes the waiting task evaluate its condition again. Safe to call from any thread.
  package func send() { waiting.withLock { _ = $0?.yield() } }

  /// Waits until the condition is true: evaluates it at once, and again after each ``send()``.
  /// - Returns: False if the deadline passed first, or if the task was cancelled.
  @discardableResult
  package func wait<C: Clock>(
    until deadline: C.Instant, clock: C = ContinuousClock(), for condition: @escaping @Sendable () async -> Bool
  ) async -> Bool {
    let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // Set it before the first evaluation, so that no later signal is lost.
    waiting.withLock { $0 = continuation }
    if await condition() { return true }
    return await withTaskGroup(of: Bool.self) { tasks in
      tasks.addTask {
        for await _ in signals where await condition() { return true }
        return false
      }
      tasks.addTask {
        try? await clock.sleep(until: deadline, tolerance: nil)
        return false
      }
      defer { tasks.cancelAll() }
      return await tasks.next() ?? false
    }
  }
}
