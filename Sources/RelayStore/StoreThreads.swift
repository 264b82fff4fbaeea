// SPDX-License-Identifier: Apache-2.0
import GRDB

/// Where a store's transactions and reads run: what is given, and `next` behind it.
enum StoreThreads: Sendable {
  /// On GRDB's: one for the writer, and one for each read at the same time.
  case own
  /// Wherever the works are called that this is given, which return when they are done. For simulations: whoever calls
  /// them one after the other, in an order of their own, has the same course again. `next` is given first, because what
  /// is completed may give more from another thread.
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
