// SPDX-License-Identifier: Apache-2.0
import GRDB

/// Where a store's transactions and reads run.
enum StoreThreads: Sendable {
  /// On GRDB's: one for the writer, and one for each read at the same time.
  case own
  /// Wherever the works are called that this is given, which return when they are done. For simulations: whoever calls
  /// them one after the other, in an order of their own, has the same course again.
  case given(@Sendable (_ work: @escaping @Sendable () -> Void) -> Void)

  func write(_ pool: DatabasePool, _ body: @escaping @Sendable (Database) -> Void) {
    switch self {
    case .own: pool.asyncWriteWithoutTransaction(body)
    case .given(let run): run { pool.writeWithoutTransaction(body) }
    }
  }

  func read(_ pool: DatabasePool, _ body: @escaping @Sendable (Result<Database, any Error>) -> Void) {
    switch self {
    case .own: pool.asyncRead(body)
    case .given(let run):
      run {
        do {
          try pool.read { body(.success($0)) }
        } catch {
          body(.failure(error))
        }
      }
    }
  }
}
