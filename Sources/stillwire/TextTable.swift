// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Text in columns, for a terminal.
struct TextTable {
  private let rows: [[String]]

  init(_ head: [String], _ rows: [[String]]) { self.rows = [head] + rows }

  /// The names of the columns in the first line, and then one line for each row.
  var text: String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      return cells.joined(separator: "  ").replacing(#/ +$/#, with: "") + "\n"
    }.joined()
  }

  /// A time for a cell, in seconds.
  /// - Parameter time: Milliseconds since 1970.
  static func date(_ time: Int64) -> String {
    Date(timeIntervalSince1970: Double(time) / 1000).formatted(.iso8601)
  }
}
