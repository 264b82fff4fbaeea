// SPDX-License-Identifier: Apache-2.0
import Dispatch
import GRDB

/// The threads on which a store runs its transactions and reads. After each of them, the store calls `next`.
enum StoreThreads: Sendable {
  /// GRDB's thread for the writer, and one of Dispatch's for each concurrent read.
  case own
  /// A function that gets the work items, and calls each of them on any thread. Each item returns when it is done. A
  /// simulation calls them one after the other in its own order, so that a run can be repeated. `next` is passed before
  /// the work runs, because its completions may pass further items from another thread.
  case given(@Sendable (_ work: @escaping @Sendable () -> Void) -> Void)

  func write(
    _ pool: DatabasePool, _ body: @escaping @Sendable (Database) -> Void, next: @escaping @Sendable () -> Void
  ) {
    switch self {
    case .own:
      pool.asyncWriteWithoutTransaction {
        body($0)
        next()
      }
    case .given(let run):
      run {
        run(next)
        pool.writeWithoutTransaction(body)
      }
    }
  }

  func read(
    _ pool: DatabasePool, _ body: @escaping @Sendable (Result<Database, any Error>) -> Void,
    next: @escaping @Sendable () -> Void
  ) {
    switch self {
    case .own:
      // GRDB's asynchronous read changes the thread twice. Each change costs milliseconds on a busy machine.
      // Dispatch gives a serial queue a thread at once. A concurrent queue waits while other threads use all
      // processors.
      DispatchQueue(label: "stillwire.reader").async {
        Self.read(pool, body)
        next()
      }
    case .given(let run):
      run {
        run(next)
        Self.read(pool, body)
      }
    }
  }

  /// Calls `body` once, with a snapshot or with the reason why there is none.
  private static func read(_ pool: DatabasePool, _ body: (Result<Database, any Error>) -> Void) {
    var hasBegun = false
    do {
      try pool.read {
        hasBegun = true
        body(.success($0))
      }
    } catch {
      // The end of a snapshot may fail, too. Its reads are done.
      if !hasBegun { body(.failure(error)) }
    }
  }
}
