// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import Testing

@testable import RelayStore

/// The rules of the schema. The replication of a cluster will depend on them: it compares rows by their primary keys,
/// and a copy of the database numbers its rows differently.
@Suite final class SchemaTests {
  private let folder = temporaryPath()
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Returns the rows of a query on a new database.
  private func rows(_ query: String) throws -> [Row] {
    try Store(folder: folder) { for completion in $0 { completion() } }.close()
    return try DatabaseQueue(path: folder + "/stillwire.db").read { try Row.fetchAll($0, sql: query) }
  }

  @Test func `every table has an explicit primary key`() throws {
    let tables = try rows(
      """
      SELECT entry.name, EXISTS (SELECT 1 FROM pragma_table_info(entry.name) WHERE pk > 0) AS has_key
      FROM sqlite_master AS entry WHERE entry.type = 'table' AND entry.name NOT LIKE 'sqlite_%'
      """)
    #expect(tables.count > 15)
    #expect(tables.filter { !($0["has_key"] as Bool) }.map { $0["name"] as String } == [])
  }

  @Test func `no statement uses SQLite's own row numbers, or reads JSON`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/RelayStore")
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".swift") }
    #expect(files.count > 40)
    for file in files {
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
      #expect(
        !text.replacing("WITHOUT ROWID", with: "").contains(/\b(rowid|ROWID|oid|_rowid_)\b/), "\(file) names the rowid")
      // A value that SQL reads has its own column.
      #expect(!text.contains(/json_(extract|insert|type|array_length)|->>/), "\(file) reads JSON")
    }
  }

  @Test(arguments: [
    "PRAGMA application_id = \(DatabaseOrigin.applicationID)",
    // A database from before clusters.
    """
    PRAGMA application_id = \(DatabaseOrigin.applicationID);
    UPDATE grdb_migrations SET identifier = '0.1.0';
    CREATE TABLE installation (id INTEGER PRIMARY KEY, secret BLOB NOT NULL, counter INTEGER NOT NULL);
    """,
    // A database of the first builds.
    """
    CREATE TABLE users (id INTEGER); CREATE TABLE rooms (id INTEGER); CREATE TABLE members (id INTEGER);
    CREATE TABLE messages (id INTEGER); CREATE TABLE jobs (id INTEGER);
    """,
  ])
  func `a database of an early build is refused, with advice`(sql: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = folder + "/stillwire.db"
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction {
      try $0.execute(
        sql:
          "CREATE TABLE grdb_migrations (identifier TEXT PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('1'); \(sql)"
      )
    }
    try queue.close()
    let before = try Data(contentsOf: URL(filePath: path))
    let error = #expect(throws: StoreError.self) { try Store(folder: folder) { _ in } }
    #expect(error?.description.contains("move the folder away") == true)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }
}
