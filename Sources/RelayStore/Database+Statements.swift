// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

extension Database {
  /// Runs a statement. GRDB prepares it once and keeps it.
  func run(_ sql: String, _ arguments: StatementArguments = []) throws {
    try cachedStatement(sql: sql).execute(arguments: arguments)
  }

  /// Runs `work` in an immediate transaction, with prepared statements: GRDB's `inTransaction` parses them each time.
  /// `work` must end at the first error of SQLite: after some, SQLite has rolled back, and a further statement would be a
  /// transaction of its own.
  func immediately(_ work: () throws -> Void) throws {
    try run("BEGIN IMMEDIATE")
    do {
      try work()
      // After some errors of the disk SQLite has already rolled back.
      guard isInsideTransaction else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
      try run("COMMIT")
    } catch {
      if isInsideTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  /// The size of the database in bytes.
  var byteCount: Int64 {
    get throws { try Int64.fetchOne(self, sql: "PRAGMA page_count")! * Int64.fetchOne(self, sql: "PRAGMA page_size")! }
  }

  func first(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
    try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
  }

  func all(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
  }

  /// True if the query has a row.
  func has(_ sql: String, _ arguments: StatementArguments = []) throws -> Bool {
    try first(sql, arguments) { _ in } != nil
  }
}

extension Row {
  /// The bytes of a column that is never NULL.
  func bytes(_ index: Int) throws -> [UInt8] {
    try withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } ?? [] }
  }

  /// The bytes of a column. Is `nil` for NULL.
  func bytesIfAny(_ index: Int) throws -> [UInt8]? {
    hasNull(atIndex: index) ? nil : try bytes(index)
  }

  /// A column of milliseconds since 1970. Is `nil` for NULL.
  func time(_ index: Int) -> Timestamp? {
    let time: Int64? = self[index]
    return time.map(Timestamp.init(rawValue:))
  }

  /// The choice whose name a column contains. Is `nil` for NULL.
  func choiceIfAny<Choice>(_ index: Int, _: Choice.Type = Choice.self) throws -> Choice?
  where Choice: RawRepresentable, Choice.RawValue == String {
    hasNull(atIndex: index) ? nil : try choice(index)
  }

  /// The choice whose name a column contains.
  func choice<Choice>(_ index: Int, _: Choice.Type = Choice.self) throws -> Choice
  where Choice: RawRepresentable, Choice.RawValue == String {
    let text: String = self[index]
    guard let choice = Choice(rawValue: text) else {
      throw StoreError.invalidRow(reason: "\(Choice.self) has no case of the stored name")
    }
    return choice
  }
}
