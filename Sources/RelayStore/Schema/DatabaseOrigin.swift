// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Refuses a database file that this program has not made.
enum DatabaseOrigin {
  /// Marks databases of this program in their header: "Stwr".
  static let applicationID: Int32 = 0x5374_7772

  /// Throws ``StoreError/unusable(path:reason:)`` when a new database must not be created at `path`, or when another
  /// program has created the database there. Throws ``StoreError/damaged(path:reason:)`` for a damage that
  /// ``DamageCheck`` finds. Does not write to the file or its log, so that another program can still recover from its
  /// crash.
  static func check(_ path: String) throws(StoreError) {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      guard lstat(path, &facts) == 0 else { return }
      // Otherwise a volume that is not mounted yet would look like a new installation.
      throw .unusable(path: path, reason: "it is a link to a file that does not exist")
    }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw .unusable(path: path, reason: "it is not a file") }
    guard facts.st_size > 0 else { return }
    let origin = try StoreError.opening(path) {
      let queue = try DatabaseQueue(path: path, configuration: .reading)
      let origin = try queue.read { db in
        let origin = try self.origin(db)
        if origin == .own { try DamageCheck.readFirstEntries(db, at: path) }
        return origin
      }
      try queue.close()
      return origin
    }
    switch origin {
    case .own: break
    case .earlierBuild:
      throw .unusable(
        path: path,
        reason: "a build from before release 0.1.0 made it; move the folder away, and the relay starts with a new one")
    case .otherProgram: throw .unusable(path: path, reason: "it is a database of another program")
    }
  }

  private enum Origin {
    case own, otherProgram
    /// A database of an early build of this program, with tables that no release has.
    case earlierBuild
  }

  private static func origin(_ db: Database) throws -> Origin {
    let id = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    guard id == 0 || id == applicationID else { return .otherProgram }
    let tables = Set(try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'"))
    if id == applicationID {
      // Builds from before the first release numbered their migrations. Later ones had no position in a log, no records
      // of rooms, no audit log, or no invitations.
      let hasNumbers =
        try tables.contains("grdb_migrations")
        && String.fetchOne(db, sql: "SELECT identifier FROM grdb_migrations WHERE identifier = '1'") != nil
      let lacksPosition =
        try tables.contains("installation") && !db.columns(in: "installation").contains { $0.name == "position" }
      let later = ["details", "activity", "erasures", "audit", "invitations"]
      let lacksRecords = tables.contains("rooms") && !tables.isSuperset(of: later)
      return hasNumbers || lacksPosition || lacksRecords ? .earlierBuild : .own
    }
    guard try Int.fetchOne(db, sql: "PRAGMA user_version") == 0 else { return .otherProgram }
    // A start that was interrupted leaves an empty database.
    if tables.isEmpty || tables == ["grdb_migrations"] { return .own }
    // The first builds set no id.
    let isEarlier = tables.isSuperset(of: ["grdb_migrations", "users", "rooms", "members", "messages", "jobs"])
    return isEarlier ? .earlierBuild : .otherProgram
  }
}
