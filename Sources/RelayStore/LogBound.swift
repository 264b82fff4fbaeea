// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Keeps SQLite's write-ahead log from growing without end.
///
/// SQLite moves the log into the database by itself, but begins the log anew only at a moment without a reader of it.
/// Where one read always begins before another ends there is no such moment, so now and then one is waited for.
/// Belongs to the writer's thread.
final class LogBound {
  private let path: String
  private let bound: Int
  /// The size from which on the next try is made.
  private var next: Int

  /// - Parameter path: That of the log.
  init(log path: String, bound: Int) {
    self.path = path
    self.bound = bound
    next = bound
  }

  /// To be called between transactions.
  func check(_ db: Database) {
    let size = size
    guard size > next else { return }
    do {
      // Waits for those who read the log, at most as long as the connection's timeout; who begins meanwhile reads the
      // database alone. Then the next transaction begins the log anew.
      _ = try db.checkpoint(.truncate)
      next = bound
    } catch {
      // A read that takes so long must not stop every message: again when there is as much more.
      next = size + bound
    }
  }

  private var size: Int {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
  }
}
