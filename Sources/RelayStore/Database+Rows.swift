// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// Reads the columns of a row by name while SQLite holds the row. GRDB then finds each column by one lookup, and copies
/// nothing.
extension Database {
  /// The decoded rows of a query. `decode` must not run the same query.
  func all<Value>(
    _ sql: String, _ arguments: StatementArguments = [], _ decode: (Row) throws -> Value
  ) throws -> [Value] {
    let rows = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
    var values: [Value] = []
    while let row = try rows.next() { values.append(try decode(row)) }
    return values
  }

  /// The decoded first row of a query. Is `nil` when the query has no row. `decode` must not run the same query.
  func first<Value>(
    _ sql: String, _ arguments: StatementArguments = [], _ decode: (Row) throws -> Value
  ) throws -> Value? {
    let rows = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
    return try rows.next().map(decode)
  }
}

extension Row {
  /// The bytes of a column; empty for NULL.
  func bytes(_ column: String) throws -> [UInt8] { try bytesIfAny(column) ?? [] }

  /// The bytes of a column. Is `nil` for NULL.
  func bytesIfAny(_ column: String) throws -> [UInt8]? {
    try withUnsafeData(named: column) { data in data.map { [UInt8]($0) } }
  }

  /// A column with a text of one line. A text that is older than the rule loses the characters that no line has, see
  /// `String.asLine`. Is `nil` for NULL.
  func line(_ column: String) -> String? { (self[column] as String?)?.asLine }
  func line(_ index: Int) -> String? { (self[index] as String?)?.asLine }

  /// A column of milliseconds since 1970. Is `nil` for NULL.
  func time(_ column: String) -> Timestamp? {
    let time: Int64? = self[column]
    return time.map(Timestamp.init(rawValue:))
  }

  /// A column of milliseconds since 1970 that is never NULL.
  func timestamp(_ column: String) -> Timestamp { Timestamp(rawValue: self[column]) }

  /// The choice whose name a column contains. Is `nil` for NULL.
  func choiceIfAny<Choice>(_ column: String, _: Choice.Type = Choice.self) throws -> Choice?
  where Choice: RawRepresentable, Choice.RawValue == String {
    (self[column] as String?) == nil ? nil : try choice(column)
  }

  /// The choice whose name a column contains.
  func choice<Choice>(_ column: String, _: Choice.Type = Choice.self) throws -> Choice
  where Choice: RawRepresentable, Choice.RawValue == String {
    guard let choice = Choice(rawValue: self[column]) else {
      throw StoreError.invalidRow(reason: "\(Choice.self) has no case of the stored name")
    }
    return choice
  }
}
