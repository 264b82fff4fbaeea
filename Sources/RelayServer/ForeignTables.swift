// SPDX-License-Identifier: Apache-2.0
import Logging
import Synchronization

/// Logs the tables that other programs have created in the database. A file that is opened again, with the same tables,
/// causes no line.
final class ForeignTables: Sendable {
  private let log: Logger
  private let noted = Mutex<[String]>([])
  /// The maximum number of tables in a line.
  private static let maxNamed = 10

  init(log: Logger) { self.log = log }

  func note(_ tables: [String]) {
    let isNew = noted.withLock { noted in
      defer { noted = tables }
      return noted != tables
    }
    guard isNew, !tables.isEmpty else { return }
    log.notice(
      "other programs have created tables in the database: the relay does not use or replicate them",
      metadata: ["tables": "\(tables.prefix(Self.maxNamed).joined(separator: " "))", "count": "\(tables.count)"])
  }
}
