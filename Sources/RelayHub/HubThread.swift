// SPDX-License-Identifier: Apache-2.0
import CRelay
import Dispatch
import Foundation
import Synchronization

/// The thread of a hub, as a serial executor: code that is isolated to an actor with this executor may call the hub.
///
/// Jobs wait in an inbox. A new job wakes the thread, unless the thread is running jobs. When no loop runs, the thread
/// runs jobs without it. Jobs yield to the loop after ``slice``: the loop then reads, writes and runs its timers, and a
/// wake runs the other jobs. Jobs that an event queues run directly after it, if time of the slice is left.
public final class HubThread: SerialExecutor {
  private struct Inbox {
    var jobs: [Job] = []
    /// The rest of an earlier batch whose slice was used up. It runs before `jobs`.
    var rest: ArraySlice<Job> = []
    /// The jobs of the next wake.
    var later: [Job] = []
    var count = 0
    var wakes = 0
    /// The time left of the slice. Each wake begins a new slice.
    var timeLeft: Duration
    /// True from a wake until no job is left to run, or the slice is used up.
    var isWoken = false
    var loop: Loop?
    var hasEnded = false

    init(timeLeft: Duration) { self.timeLeft = timeLeft }

    var isEmpty: Bool { rest.isEmpty && jobs.isEmpty && later.isEmpty }

    /// Takes the next batch: the rest of an earlier batch, or else all queued jobs. Returns `nil` if there are none.
    mutating func take() -> ArraySlice<Job>? {
      guard !rest.isEmpty || !jobs.isEmpty else { return nil }
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
  private let inbox: Mutex<Inbox>
  private let semaphore = DispatchSemaphore(value: 0)
  private let thread = Mutex<pthread_t?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  public init(slice: Duration = .milliseconds(5)) {
    self.slice = slice
    inbox = Mutex(Inbox(timeLeft: slice))
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    append(.task(UnownedJob(job)))
  }

  /// Queues `work` for the hub's thread.
  public func perform(_ work: @escaping @Sendable () -> Void) { append(.work(work)) }

  /// Queues `work` for the next wake of the thread, after the jobs that run now.
  public func performLater(_ work: @escaping @Sendable () -> Void) { append(.work(work), isLater: true) }

  /// Begins an iteration of the hub's loop, if it runs. Any thread.
  public func wakeLoop() { inbox.withLock { if let loop = $0.loop { relay_hub_wake(loop.hub) } } }

  /// The number of jobs queued so far. Any thread.
  public var jobCount: Int { inbox.withLock(\.count) }

  /// The number of times that jobs have woken the thread. For tests.
  var wakeCount: Int { inbox.withLock(\.wakes) }

  /// True while the loop of a hub runs on the thread. For tests.
  var hasLoop: Bool { inbox.withLock { $0.loop != nil } }

  private func append(_ job: Job, isLater: Bool = false) {
    inbox.withLock { inbox in
      if isLater { inbox.later.append(job) } else { inbox.jobs.append(job) }
      inbox.count += 1
      wake(&inbox)
    }
  }

  /// Wakes the thread. Does nothing if it is awake for jobs, or is running them.
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

  /// Begins a slice, and runs the jobs of the inbox in order, also those that arrive meanwhile. Jobs of ``performLater(_:)``
  /// that arrive meanwhile wait for the next call.
  func runJobs() {
    inbox.withLock { inbox in
      inbox.jobs += inbox.later
      inbox.later = []
      inbox.timeLeft = slice
    }
    runQueued()
  }

  /// Calls `body`. If time of the slice is left, then runs the jobs that `body` has queued; they do not wake the thread.
  func runJobs(after body: () -> Void) {
    let hasTime = inbox.withLock { inbox in
      guard inbox.timeLeft > .zero else { return false }
      inbox.isWoken = true
      return true
    }
    body()
    if hasTime { runQueued() }
  }

  /// Runs jobs until the slice is used up. Jobs that are left then wake the thread.
  private func runQueued() {
    let end = ContinuousClock.now + inbox.withLock(\.timeLeft)
    var batch: ArraySlice<Job> = []
    repeat {
      if batch.isEmpty {
        guard let next = inbox.withLock({ $0.take() }) else { break }
        batch = next
      }
      run(batch.removeFirst())
    } while ContinuousClock.now < end
    inbox.withLock { inbox in
      inbox.rest = batch
      inbox.timeLeft = end - ContinuousClock.now
      inbox.isWoken = false
      if !inbox.isEmpty { wake(&inbox) }
    }
  }

  private func run(_ job: Job) {
    switch job {
    case .task(let task): task.runSynchronously(on: asUnownedSerialExecutor())
    case .work(let work): work()
    }
  }

  /// Ends the thread when its inbox is empty, and waits for that end. Stop the loop first. Jobs that are queued later
  /// never run.
  public func end() {
    inbox.withLock { $0.hasEnded = true }
    semaphore.signal()
    ended.wait()
  }
}
