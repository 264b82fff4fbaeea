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
      zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ").withoutSpacesAtEnd + "\n"
    }.joined()
  }

  /// A time for a cell, in seconds.
  /// - Parameter time: Milliseconds since 1970.
  static func date(_ time: Int64) -> String {
    Date(timeIntervalSince1970: Double(time) / 1000).formatted(.iso8601)
  }
}

extension String {
  /// The text with spaces at its end, so that it has at least this number of characters. Foundation's `padding` counts
  /// UTF-16 units, and cuts longer texts.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

  var withoutSpacesAtEnd: String { replacing(#/ +$/#, with: "") }
}
