// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The threads on which a store runs its transactions and reads. After each of them, the store runs `next`.
enum StoreThreads: Sendable {
  /// GRDB's threads: one for the writer, and one for each concurrent read.
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
      pool.asyncRead {
        body($0)
        next()
      }
    case .given(let run):
      run {
        run(next)
        do {
          try pool.read { body(.success($0)) }
        } catch {
          body(.failure(error))
        }
      }
    }
  }
}
