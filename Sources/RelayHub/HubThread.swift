// SPDX-License-Identifier: Apache-2.0
import CRelay
import Dispatch
import Foundation
import Synchronization

/// The thread of a hub, as an executor: what is isolated to an actor with this executor may call the hub.
///
/// Jobs come into an inbox and wake the loop once for a batch. Before the loop runs, and after it has ended, the
/// thread takes them without it, so that no task waits for ever.
public final class HubThread: SerialExecutor {
  private struct Inbox {
    var jobs: [Job] = []
    var count = 0
    var isWoken = false
    var loop: Loop?
    var hasEnded = false
  }

  private enum Job: Sendable {
    case task(UnownedJob)
    case work(@Sendable () -> Void)
  }

  /// The hub while its loop runs.
  private struct Loop: @unchecked Sendable {
    // Only `relay_hub_wake` is called with it from other threads, which is free to all.
    let hub: OpaquePointer
  }

  private let inbox = Mutex(Inbox())
  private let semaphore = DispatchSemaphore(value: 0)
  private let thread = Mutex<pthread_t?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  public init() {}

  public func enqueue(_ job: consuming ExecutorJob) {
    append(.task(UnownedJob(job)))
  }

  /// Runs `work` on the hub's thread, behind what was queued before.
  public func perform(_ work: @escaping @Sendable () -> Void) { append(.work(work)) }

  /// How many jobs have come so far. Any thread.
  public var jobCount: Int { inbox.withLock(\.count) }

  private func append(_ job: Job) {
    inbox.withLock { inbox in
      inbox.jobs.append(job)
      inbox.count += 1
      guard !inbox.isWoken else { return }
      inbox.isWoken = true
      // Within the lock: the hub is not destroyed before its loop was taken out of the inbox.
      if let loop = inbox.loop { relay_hub_wake(loop.hub) } else { semaphore.signal() }
    }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  public func isIsolatingCurrentContext() -> Bool? {
    thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
  }

  public func checkIsolated() {
    precondition(isIsolatingCurrentContext() == true, "the hub was called from another thread than its own")
  }

  /// Starts the thread. `body` runs on it first, with the right to use the hub, and usually runs the hub's loop.
  func start(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread { [self] in
      Thread.current.name = "stillwire hub"  // from within: from outside it names nothing
      self.thread.withLock { $0 = pthread_self() }
      body()
      while !inbox.withLock({ $0.hasEnded && $0.jobs.isEmpty }) {
        runJobs()
        semaphore.wait()
      }
      ended.signal()
    }
    thread.stackSize = 4 << 20
    thread.start()
  }

  /// Runs `body`, the loop of `hub`; jobs wake that loop as long as it runs.
  func withLoop(of hub: OpaquePointer, _ body: () -> Void) {
    let loop = Loop(hub: hub)
    inbox.withLock { inbox in
      inbox.loop = loop
      if !inbox.jobs.isEmpty { relay_hub_wake(hub) }
    }
    body()
    inbox.withLock { inbox in
      inbox.loop = nil
      if !inbox.jobs.isEmpty { semaphore.signal() }
    }
  }

  /// Runs what waits in the inbox, and not what that adds.
  func runJobs() {
    let jobs = inbox.withLock { inbox in
      inbox.isWoken = false
      let jobs = inbox.jobs
      inbox.jobs.removeAll(keepingCapacity: inbox.jobs.count < 4096)
      return jobs
    }
    for job in jobs {
      switch job {
      case .task(let task): task.runSynchronously(on: asUnownedSerialExecutor())
      case .work(let work): work()
      }
    }
  }

  /// Ends the thread once nothing waits for it any more.
  public func end() {
    inbox.withLock { $0.hasEnded = true }
    semaphore.signal()
    ended.wait()
  }
}
