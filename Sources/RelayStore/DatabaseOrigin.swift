// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Refuses a database file that this program has not made.
enum DatabaseOrigin {
  /// Marks databases of this program in their header: "Stwr".
  static let applicationID: Int32 = 0x5374_7772

  /// Throws ``StoreError/unusable(path:reason:)`` when a new database must not be made at `path`, or when another program
  /// has made the one there. Writes neither to the file nor to its log: the log of another program stays as its crash has
  /// left it.
  static func check(_ path: String) throws(StoreError) {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      guard lstat(path, &facts) == 0 else { return }
      // A volume that is not mounted yet would otherwise look like a new installation.
      throw .unusable(path: path, reason: "it is a link to a file that does not exist")
    }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw .unusable(path: path, reason: "it is not a file") }
    guard facts.st_size > 0 else { return }
    let isOwn: Bool
    do {
      var configuration = Configuration()
      configuration.busyMode = .timeout(5)
      configuration.readonly = true
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      isOwn = try queue.read(isDatabaseOfOurs)
      try queue.close()
    } catch {
      throw .unusable(path: path, reason: StoreError.words(error))
    }
    guard isOwn else { throw .unusable(path: path, reason: "it is a database of another program") }
  }

  private static func isDatabaseOfOurs(_ db: Database) throws -> Bool {
    let id = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    guard id == 0 else { return id == applicationID }
    guard try Int.fetchOne(db, sql: "PRAGMA user_version") == 0 else { return false }
    let tables = Set(try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'"))
    // An empty one was made by a start that was cut off. The first schemas had no id.
    return tables.isEmpty
      || tables.isSuperset(of: ["grdb_migrations", "users", "rooms", "members", "messages", "jobs"])
      || tables == ["grdb_migrations"]
  }
}
