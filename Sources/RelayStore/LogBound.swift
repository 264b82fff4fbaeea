// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Limits the size of SQLite's write-ahead log.
///
/// SQLite moves the log into the database by itself, but it can restart the log only at a moment without readers. If
/// reads always overlap, such a moment never occurs. So when the log is too large, the writer waits for the readers.
/// Belongs to the writer's thread.
final class LogBound {
  private let path: String
  private let bound: Int
  /// The size in bytes above which the next attempt is made.
  private var next: Int

  /// - Parameter path: The path of the log.
  init(log path: String, bound: Int) {
    self.path = path
    self.bound = bound
    next = bound
  }

  /// Restarts the log if it is too large. Call this between transactions.
  func check(_ db: Database) {
    let size = size
    guard size > next else { return }
    do {
      // Waits for the readers of the log, at most for the connection's timeout. Readers that begin meanwhile read only
      // the database. Then the next transaction restarts the log.
      _ = try db.checkpoint(.truncate)
      next = bound
    } catch {
      // A read that takes longer must not stop all messages. The next attempt is made after the log has grown by the
      // bound again.
      next = size + bound
    }
  }

  private var size: Int {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
  }
}
