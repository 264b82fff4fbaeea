// SPDX-License-Identifier: Apache-2.0
import GRDB
import GRDBSQLite

/// A prepared statement whose arguments are bound one by one, without an array of `DatabaseValue`.
///
/// GRDB prepares and keeps the statement. Fetch it again for each transaction. Belongs to the writer's thread.
struct BoundStatement {
  private let db: Database
  private let statement: Statement
  private var pointer: OpaquePointer { statement.sqliteStatement }

  init(_ db: Database, _ sql: String) throws {
    self.db = db
    statement = try db.cachedStatement(sql: sql)
  }

  /// Binds the parameter at `index`. The first one is 1, and binding it begins a new use of the statement.
  func bind(_ index: Int32, _ number: Int64) throws {
    // GRDB does not reset a statement after its last step.
    if index == 1 { end() }
    try check(sqlite3_bind_int64(pointer, index, number))
  }

  func bind(_ index: Int32, _ number: Int64?) throws {
    if let number { try bind(index, number) } else { try check(sqlite3_bind_null(pointer, index)) }
  }

  /// Binds a copy of a text without NUL.
  func bind(_ index: Int32, _ text: String?) throws {
    guard let text else { return try check(sqlite3_bind_null(pointer, index)) }
    try check(sqlite3_bind_text(pointer, index, text, -1, Self.copied))
  }

  /// Binds the bytes without a copy. They must stay valid until ``run()`` has returned.
  func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws {
    try check(sqlite3_bind_blob64(pointer, index, bytes.baseAddress, UInt64(bytes.count), nil))
  }

  /// Runs a statement without rows, and clears its arguments.
  func run() throws {
    defer { end() }
    let code = sqlite3_step(pointer)
    guard code == SQLITE_DONE else { throw error(code) }
  }

  /// Runs a query, calls `read` with its first row if it has one, and clears the arguments.
  func first<Value>(_ read: (_ row: Columns) -> Value) throws -> Value? {
    defer { end() }
    return switch sqlite3_step(pointer) {
    case SQLITE_ROW: read(Columns(pointer: pointer))
    case SQLITE_DONE: nil
    case let code: throw error(code)
    }
  }

  /// The columns of a row; the first one is 0.
  struct Columns {
    fileprivate let pointer: OpaquePointer
    subscript(index: Int32) -> Int64 { sqlite3_column_int64(pointer, index) }
  }

  private func end() {
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  private func check(_ code: Int32) throws {
    guard code == SQLITE_OK else { throw error(code) }
  }

  private func error(_ code: Int32) -> DatabaseError {
    DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
  }

  // Safe: SQLite defines this address as "copy the bytes".
  private static let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)
}
