// SPDX-License-Identifier: Apache-2.0
import Dispatch
import GRDB
import Synchronization

/// Waiting reads share the next snapshot, so that a burst of reads needs few transactions and threads.
final class GroupRead: Sendable {
  typealias Work = @Sendable (Result<Database, any Error>) -> Void

  private struct State {
    var waiting: [Work] = []
    var running = 0
    var isEnded = false
  }

  /// The maximum number of snapshots at the same time.
  private static let maxRunning = 2

  private let pool: DatabasePool
  private let threads: StoreThreads
  private let state = Mutex(State())
  /// The snapshots that run. Is `nil` with given threads, which may never call a work.
  private let snapshots: DispatchGroup?

  init(_ pool: DatabasePool, _ threads: StoreThreads) {
    self.pool = pool
    self.threads = threads
    snapshots = if case .own = threads { DispatchGroup() } else { nil }
  }

  /// Queues a read. `work` runs on a reader's thread and sees everything that was committed before this call. After
  /// ``end()`` it gets ``StoreError/closed``, on the caller's thread.
  func append(_ work: @escaping Work) {
    let begins: Bool? = state.withLock { state in
      guard !state.isEnded else { return nil }
      state.waiting.append(work)
      guard state.running < Self.maxRunning else { return false }
      state.running += 1
      snapshots?.enter()
      return true
    }
    guard let begins else { return work(.failure(StoreError.closed)) }
    if begins { readOn() }
  }

  /// Takes no more reads, and blocks until those before are done: the pool gives out closed connections while it closes.
  func end() {
    state.withLock { $0.isEnded = true }
    // A work that given threads call later finds the pool closed.
    snapshots?.wait()
  }

  private func readOn() {
    // The work items are taken before the snapshot begins: an item that arrives later might need a newer snapshot.
    let works = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    threads.read(pool) { database in
      for work in works { work(database) }
    } next: { [self] in
      let goesOn = state.withLock { state in
        guard state.waiting.isEmpty else { return true }
        state.running -= 1
        snapshots?.leave()
        return false
      }
      if goesOn { readOn() }
    }
  }
}
