// SPDX-License-Identifier: Apache-2.0
import CRelay
import Dispatch
import Foundation
import Synchronization

/// The thread of a hub, as an executor: what is isolated to an actor with this executor may call the hub.
///
/// Jobs come into an inbox and wake the loop once for a batch. Before the loop runs, and after it has ended, the
/// thread takes them without it, so that no task waits for ever. A batch that takes longer than ``slice`` is continued in
/// the loop's next iteration, so that the loop reads, writes and runs its timers in between.
public final class HubThread: SerialExecutor {
  private struct Inbox {
    var jobs: [Job] = []
    /// The part of an earlier batch for which its slice left no time. It runs before `jobs`.
    var rest: ArraySlice<Job> = []
    var count = 0
    var wakes = 0
    var isWoken = false
    var loop: Loop?
    var hasEnded = false

    var isEmpty: Bool { rest.isEmpty && jobs.isEmpty }

    /// Takes the next batch: the rest of an earlier one, or everything that has come since.
    mutating func take() -> ArraySlice<Job> {
      isWoken = false
      let batch = rest.isEmpty ? jobs[...] : rest
      if rest.isEmpty { jobs.removeAll(keepingCapacity: jobs.count < 4096) }
      rest = []
      return batch
    }
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

  /// The time after which a batch yields to the loop. A single job is never interrupted.
  private let slice: Duration
  private let inbox = Mutex(Inbox())
  private let semaphore = DispatchSemaphore(value: 0)
  private let thread = Mutex<pthread_t?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  public init(slice: Duration = .milliseconds(5)) { self.slice = slice }

  public func enqueue(_ job: consuming ExecutorJob) {
    append(.task(UnownedJob(job)))
  }

  /// Runs `work` on the hub's thread, behind what was queued before.
  public func perform(_ work: @escaping @Sendable () -> Void) { append(.work(work)) }

  /// How many jobs have come so far. Any thread.
  public var jobCount: Int { inbox.withLock(\.count) }

  /// The number of times that jobs have woken the thread so far. For tests.
  var wakeCount: Int { inbox.withLock(\.wakes) }

  /// True while the loop of a hub runs on the thread. For tests.
  var hasLoop: Bool { inbox.withLock { $0.loop != nil } }

  private func append(_ job: Job) {
    inbox.withLock { inbox in
      inbox.jobs.append(job)
      inbox.count += 1
      wake(&inbox)
    }
  }

  /// Wakes the thread, once until it takes a batch.
  private func wake(_ inbox: inout Inbox) {
    guard !inbox.isWoken else { return }
    inbox.isWoken = true
    inbox.wakes += 1
    // Within the lock: the hub is not destroyed before its loop was taken out of the inbox.
    if let loop = inbox.loop { relay_hub_wake(loop.hub) } else { semaphore.signal() }
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
      while !inbox.withLock({ $0.hasEnded && $0.isEmpty }) {
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
      if !inbox.isEmpty { relay_hub_wake(hub) }
    }
    body()
    inbox.withLock { inbox in
      inbox.loop = nil
      if !inbox.isEmpty { semaphore.signal() }
    }
  }

  /// Runs the next batch of the inbox, in the order in which the jobs came, until the slice is used up. Jobs that this
  /// adds, and jobs that are left, wake the thread again.
  func runJobs() {
    var batch = inbox.withLock { $0.take() }
    let end = ContinuousClock.now + slice
    while let job = batch.popFirst() {
      switch job {
      case .task(let task): task.runSynchronously(on: asUnownedSerialExecutor())
      case .work(let work): work()
      }
      if !batch.isEmpty, ContinuousClock.now >= end { break }
    }
    inbox.withLock { inbox in
      inbox.rest = batch
      if !inbox.isEmpty { wake(&inbox) }
    }
  }

  /// Ends the thread once nothing waits for it any more.
  public func end() {
    inbox.withLock { $0.hasEnded = true }
    semaphore.signal()
    ended.wait()
  }
}
