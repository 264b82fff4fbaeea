// SPDX-License-Identifier: Apache-2.0
import GRDB

/// A bounded number of rows of a table in the order of its primary key, of which a condition selects some.
struct TableSlice {
  /// The keys of the selected rows.
  private(set) var found: [(Int64, Int64)] = []
  /// The key of the last row of the slice.
  private(set) var last: (Int64, Int64)
  /// The number of rows of the slice.
  private(set) var looked = 0
  /// True if no row follows.
  private(set) var isComplete = true

  /// - Parameters:
  ///   - first: The first column of the primary key.
  ///   - second: The second one, or `0`.
  ///   - rows: The maximum number of rows of the slice.
  ///   - limit: The maximum number of selected rows.
  ///   - condition: A condition on the columns of a row.
  init(
    _ db: Database, _ table: String, _ first: String, _ second: String, after key: (Int64, Int64), rows: Int,
    limit: Int, where condition: String
  ) throws {
    last = key
    let columns = second == "0" ? first : "\(first), \(second)"
    let isLater = second == "0" ? "\(first) > ?1 AND ?2 = 0" : "(\(first), \(second)) > (?1, ?2)"
    let cursor = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT \(first), \(second), \(condition) FROM \(table) WHERE \(isLater) ORDER BY \(columns) LIMIT ?3
          """), arguments: [key.0, key.1, rows + 1])
    while let row = try cursor.next() {
      guard looked < rows, found.count < limit else {
        isComplete = false
        return
      }
      looked += 1
      last = (row[0], row[1])
      if row[2] as Int64 != 0 { found.append(last) }
    }
  }
}
