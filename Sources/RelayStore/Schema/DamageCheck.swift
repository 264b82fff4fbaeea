// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Reads the beginning of each table and each index, so that the start finds a damage there, and not a client later.
///
/// SQLite checks a page when it reads the page, and a start reads few of them. A check of all pages would delay the start
/// of a large database for minutes.
enum DamageCheck {
  /// A table or an index, with a query that reads its pages from the root to the first entry.
  struct Part {
    let name: String
    let query: String
  }

  /// Reads the first entry of each table and each index. Throws ``StoreError/damaged(path:reason:)`` for a page that
  /// cannot be read.
  /// - Parameter path: The path of the database.
  static func readFirstEntries(_ db: Database, at path: String) throws {
    for part in try parts(db) {
      do {
        _ = try Row.fetchOne(db, sql: part.query)
      } catch let error as DatabaseError where StoreError.isDamage(error.resultCode) {
        throw StoreError.damaged(path: path, reason: "\(StoreError.words(error)), in \(part.name)")
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
        // The table of another program may need a function or a collation that only that program has.
      }
    }
  }

  /// All tables and indexes of the database, from its schema.
  static func parts(_ db: Database) throws -> [Part] {
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE rootpage > 0"
    let withoutRowID = Set(
      try String.fetchAll(db, sql: "SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr"))
    return try Row.fetchAll(db, sql: schema).map { row in
      let (type, name, table): (String, String, String) = (row[0], row[1], row[2])
      let source = "SELECT 1 FROM \(table.quotedDatabaseIdentifier)"
      guard type == "table" else {
        // SQLite reads a partial index only for a query with the condition of the index.
        let condition = (row[3] as String?).flatMap { sql in
          sql.range(of: #"\bWHERE\b"#, options: .regularExpression).map { sql[$0.lowerBound...] }
        }
        return Part(
          name: name, query: "\(source) INDEXED BY \(name.quotedDatabaseIdentifier) \(condition ?? "") LIMIT 1")
      }
      guard withoutRowID.contains(table) else { return Part(name: name, query: "\(source) NOT INDEXED LIMIT 1") }
      // Without the order, SQLite could read a smaller index instead of such a table.
      let columns = try String.fetchAll(
        db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table])
      let key = columns.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
      return Part(name: name, query: "\(source) NOT INDEXED ORDER BY \(key) LIMIT 1")
    }
  }
}
