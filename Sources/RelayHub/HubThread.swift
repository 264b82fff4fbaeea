// SPDX-License-Identifier: Apache-2.0
import CRelay
import Dispatch
import Foundation
import Synchronization

/// The thread of a hub, as a serial executor: code that is isolated to an actor with this executor may call the hub.
///
/// Jobs are queued in an inbox, and wake the loop if it does not run any at that time. Before the loop runs and after its
/// end, the thread runs jobs without the loop, so that no task waits forever. If the jobs take longer than ``slice``, the
/// rest runs in the loop's next iteration. Between the two, the loop reads, writes and runs its timers.
public final class HubThread: SerialExecutor {
  private struct Inbox {
    var jobs: [Job] = []
    /// The rest of an earlier batch whose slice was used up. It runs before `jobs`.
    var rest: ArraySlice<Job> = []
    var count = 0
    var wakes = 0
    var isWoken = false
    var loop: Loop?
    var hasEnded = false

    var isEmpty: Bool { rest.isEmpty && jobs.isEmpty }

    /// Takes the next batch: the rest of an earlier batch, or else all queued jobs. Without any, returns `nil`, and the
    /// next job wakes the thread.
    mutating func take() -> ArraySlice<Job>? {
      guard !isEmpty else {
        isWoken = false
        return nil
      }
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
    // Other threads call only `relay_hub_wake` with it, which any thread may call.
    let hub: OpaquePointer
  }

  /// The time after which jobs yield to the loop. A single job is never interrupted.
  private let slice: Duration
  private let inbox = Mutex(Inbox())
  private let semaphore = DispatchSemaphore(value: 0)
  private let thread = Mutex<pthread_t?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  public init(slice: Duration = .milliseconds(5)) { self.slice = slice }

  public func enqueue(_ job: consuming ExecutorJob) {
    append(.task(UnownedJob(job)))
  }

  /// Queues `work` for the hub's thread.
  public func perform(_ work: @escaping @Sendable () -> Void) { append(.work(work)) }

  /// Begins an iteration of the hub's loop, if it runs. Any thread.
  public func wakeLoop() { inbox.withLock { if let loop = $0.loop { relay_hub_wake(loop.hub) } } }

  /// The number of jobs queued so far. Any thread.
  public var jobCount: Int { inbox.withLock(\.count) }

  /// The number of times that jobs have woken the thread. For tests.
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

  /// Wakes the thread, unless it was already woken, or runs jobs.
  private func wake(_ inbox: inout Inbox) {
    guard !inbox.isWoken else { return }
    inbox.isWoken = true
    inbox.wakes += 1
    // The lock is held: the hub is not destroyed before its loop is removed from the inbox.
    if let loop = inbox.loop { relay_hub_wake(loop.hub) } else { semaphore.signal() }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  public func isIsolatingCurrentContext() -> Bool? {
    thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
  }

  public func checkIsolated() {
    precondition(isIsolatingCurrentContext() == true, "the hub was called from another thread than its own")
  }

  /// Starts the thread. It runs `body` first, which may use the hub and usually runs the hub's loop.
  func start(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread { [self] in
      Thread.current.name = "stillwire hub"  // set on the thread itself; a name set from outside has no effect
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

  /// Runs `body`, which is the loop of `hub`. During this call, jobs wake that loop.
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

  /// Runs the jobs of the inbox in order, also those that arrive meanwhile, until the slice is used up. If jobs are left
  /// then, they wake the thread again.
  func runJobs() {
    let end = ContinuousClock.now + slice
    while var batch = inbox.withLock({ $0.take() }) {
      while let job = batch.popFirst() {
        run(job)
        guard ContinuousClock.now >= end else { continue }
        return inbox.withLock { inbox in
          inbox.rest = batch
          inbox.isWoken = false
          if !inbox.isEmpty { wake(&inbox) }
        }
      }
    }
  }

  /// Calls `body`, and then runs the jobs that it has queued, like ``runJobs()``. These do not wake the thread.
  func runJobs(after body: () -> Void) {
    inbox.withLock { $0.isWoken = true }
    body()
    runJobs()
  }

  private func run(_ job: Job) {
    switch job {
    case .task(let task): task.runSynchronously(on: asUnownedSerialExecutor())
    case .work(let work): work()
    }
  }

  /// Ends the thread when its inbox is empty, and waits for that end.
  public func end() {
    inbox.withLock { $0.hasEnded = true }
    semaphore.signal()
    ended.wait()
  }
}
