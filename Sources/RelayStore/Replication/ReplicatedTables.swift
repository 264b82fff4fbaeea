// SPDX-License-Identifier: Apache-2.0
import CRows
import Foundation
import GRDB

/// The tables whose rows a journal and its replicas have in common: those of the migrations, except ``local``.
enum ReplicatedTables {
  /// The tables that each file has for itself: the migrations that it has run, and the table of its own state.
  static let local = ["grdb_migrations", "installation"]

  /// The tables that no migration has created, in the order of their names. Another program owns them, such as
  /// Litestream, so they may have any shape.
  static func foreign(_ db: Database, _ migrator: DatabaseMigrator) throws -> [String] {
    let own = try DatabaseQueue()
    if let last = try migrator.appliedMigrations(db).last { try migrator.migrate(own, upTo: last) }
    let known = Set(try own.read(names))
    return try names(db).filter { !known.contains($0) }
  }

  private static func names(_ db: Database) throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT name FROM pragma_table_list
        WHERE schema = 'main' AND type <> 'view' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name
        """)
  }

  /// Calls `body` with the names of the tables that are not replicated, for `CRows`: ended by NULL.
  static func withLocalNames<Value>(
    and foreign: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
  ) -> Value {
    let copies = (local + foreign).map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { names in
      guard let first = names.baseAddress else { preconditionFailure("an array with NULL has an address") }
      return body(first)
    }
  }

  /// The hash of all replicated rows. Run this within a transaction.
  static func hash(_ db: Database, foreign: [String]) throws -> String {
    var error = rows_error_t()
    var hash = [CChar](repeating: 0, count: Int(ROWS_HASH_SIZE))
    let isRead = withLocalNames(and: foreign) { rows_hash(db.sqliteConnection, $0, &hash, &error) }
    guard isRead else { throw StoreError.unavailable(reason: error.words) }
    return String(decoding: hash.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension rows_error_t {
  /// The text for an operator.
  var words: String {
    withUnsafeBytes(of: text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
