// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

@Suite struct HandoverTests {
  /// Notes the queue from which each job arrives, and runs the jobs on a queue of its own.
  private final class RecordingExecutor: SerialExecutor {
    let arrivals = Mutex<[String]>([])
    private let queue = DispatchQueue(label: "executor")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      let arrival = DispatchQueue.getSpecific(key: HandoverTests.giver) ?? "another thread"
      arrivals.withLock { $0.append(arrival) }
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Returns when each job so far has ended or is suspended.
    func waitForJobs() { queue.sync {} }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
  }

  private actor Waiter {
    nonisolated let executor = RecordingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Waits for the value of `give`. Returns it, and the queues that have passed a job to the executor meanwhile.
    func wait(_ give: @Sendable (Handover<String>) -> Void) async -> (value: String, arrivals: [String]) {
      executor.arrivals.withLock { $0 = [] }
      let handover = Handover<String>()
      give(handover)
      let value = await handover.value()
      return (value, executor.arrivals.withLock { $0 })
    }
  }

  fileprivate static let giver = DispatchSpecificKey<String>()
  private let queue = DispatchQueue(label: "giver")

  init() { queue.setSpecific(key: Self.giver, value: "the giver") }

  @Test func `a waiting task goes from the giver's thread directly to its own executor`() async {
    let waiter = Waiter()
    let waited = await waiter.wait { [queue] handover in
      queue.async {
        // Now the task waits for the value.
        waiter.executor.waitForJobs()
        handover.give("late")
      }
    }
    #expect(waited.value == "late")
    // After a continuation, a thread of Swift's pool would pass the job.
    #expect(waited.arrivals == ["the giver"])
  }

  @Test func `a value may be given before the task waits`() async {
    let waited = await Waiter().wait { $0.give("early") }
    #expect(waited.value == "early")
  }

  @Test func `a task without an executor of its own gets the value`() async {
    let handover = Handover<Result<Int, StoreError>>()
    queue.async { handover.give(.success(1)) }
    #expect(await handover.value() == .success(1))
    #expect(DispatchQueue.getSpecific(key: Self.giver) == nil, "the task runs on the giver's thread")
  }

  @Test func `a task may close the store after a read or a failed write`() async throws {
    let folder = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try Store(folder: folder) { for completion in $0 { completion() } }
    await #expect(throws: StoreError.noRoom(RoomID(unchecked: "none"))) {
      try await store.write { _ in throw StoreError.noRoom(RoomID(unchecked: "none")) }
    }
    _ = try await store.read { try $0.inbox.position() }
    // On the thread of the writer or of a reader, this would never return.
    store.close()
  }

  @Test func `a cancelled task gets the value`() async {
    let handover = Handover<Int>()
    let task = Task { await handover.value() }
    task.cancel()
    handover.give(1)
    #expect(await task.value == 1)
  }

  @Test func `many tasks get the values that were given to them`() async {
    await withTaskGroup(of: Bool.self) { tasks in
      for number in 0..<1_000 {
        tasks.addTask {
          let handover = Handover<Int>()
          queue.async { handover.give(number) }
          return await handover.value() == number
        }
      }
      for await isRight in tasks { #expect(isRight) }
    }
  }
}
