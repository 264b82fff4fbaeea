// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Copies of a replica's file.
extension Replica {
  /// Copies the database of a folder to a single file, with a connection of its own. A ``Replica`` or a ``Store`` may
  /// write at the same time. The copy has the state of one moment.
  ///
  /// A copy of a large file keeps SQLite's log from being restarted until it ends. All pages of the copy are checked, so
  /// that a damaged file has no copy.
  /// - Parameter path: A file that does not exist, or that is replaced. Only its owner can read it.
  /// - Returns: The position of the copy.
  public static func copy(folder: String, to path: String) throws(StoreError) -> String? {
    try copy(database: folder + "/stillwire.db", to: path)
  }

  static func copy(database: String, to path: String) throws(StoreError) -> String? {
    try copy(database: database, to: path, check: .pages, Installation.position)
  }

  /// - Parameter read: Reads from the copy, which was checked.
  static func copy<Value>(
    database: String, to path: String, check: Check, _ read: (Database) throws -> Value
  ) throws(StoreError) -> Value {
    try DatabaseFiles.remove(path)
    do {
      return try StoreError.opening(path) {
        try DatabaseFiles.create(path)
        let source = try DatabaseQueue(path: database, configuration: .reading)
        let target = try DatabaseQueue(path: path)
        // One step: several steps would begin again after each change.
        try source.backup(to: target)
        try target.close()
        try source.close()
        return try openCopy(path) { db in
          if let fault = try fault(db, check) { throw StoreError.damaged(path: database, reason: fault) }
          return try read(db)
        }
      }
    } catch {
      try? DatabaseFiles.remove(path)
      throw error
    }
  }

  /// Gives the database of a folder the second name `stillwire.db.diverged`, which an installation does not change.
  /// Replaces an earlier database of this name. The folder must not be in use.
  /// - Returns: The path of the second name.
  public static func keep(folder: String) throws(StoreError) -> String {
    let folder = try DataFolder(folder, acceptsDamage: true)
    defer { folder.lock.release() }
    let database = DatabaseFiles.resolved(folder.database)
    let kept = database + ".diverged"
    try DatabaseFiles.addName(kept, to: database)
    return kept
  }

  /// Replaces the database of a folder by a copy, which is moved. The folder must not be in use. The copy must be on the
  /// file system of the database. A crash leaves the old database or the new one.
  ///
  /// The old database may be damaged. Throws an error, and keeps the old database, if the copy is damaged, from another
  /// program or from a newer release. The copy is a snapshot, so the new database has one, see ``hasSnapshot``.
  public static func install(_ copy: String, folder: String) throws(StoreError) {
    let folder = try DataFolder(folder, acceptsDamage: true)
    defer { folder.lock.release() }
    _ = try position(ofCopy: copy)
    try StoreError.opening(copy) { try openCopy(copy) { try Installation.save(hasSnapshot: true, $0) } }
    try CopyInstallation.install(copy, at: folder.database)
  }

  /// Returns the position of a copy. Throws an error if the copy is damaged, from another program or from a newer
  /// release.
  public static func position(ofCopy copy: String) throws(StoreError) -> String? {
    do {
      try DatabaseOrigin.check(copy)
      return try StoreError.opening(copy) {
        try openCopy(copy) { db in
          try checkSchema(db, at: copy)
          if let fault = try fault(db, .pages) { throw StoreError.damaged(path: copy, reason: fault) }
          return try Installation.position(db)
        }
      }
    } catch .damaged(_, let reason) {
      // The advice for a damaged database does not apply to a copy.
      throw .unusable(path: copy, reason: "it is damaged: \(reason)")
    }
  }

  /// Returns the position in the database of a folder, although other parts of it may be damaged. Is `nil` if the file
  /// follows no log. The folder must not be in use.
  public static func position(ofDamaged folder: String) throws(StoreError) -> String? {
    let folder = try DataFolder(folder, acceptsDamage: true)
    defer { folder.lock.release() }
    return try StoreError.opening(folder.database) {
      return try DatabaseQueue(path: folder.database, configuration: .reading).read(Installation.position)
    }
  }

  /// Throws an error if the database is from a newer release, or if no relay has made its tables.
  static func checkSchema(_ db: Database, at path: String) throws {
    if try Schema.migrator.hasBeenSuperseded(db) { throw StoreError.newerSchema(path: path) }
    guard try !Schema.migrator.appliedMigrations(db).isEmpty, try db.has("SELECT 1 FROM installation") else {
      throw StoreError.unusable(path: path, reason: "it is not a copy of a relay's database")
    }
  }

  /// A check of a whole database. The value is the name in SQLite.
  enum Check: String {
    /// Reads all pages.
    case pages = "quick_check"
    /// Also compares the indexes with their tables, which takes longer.
    case indexes = "integrity_check"
  }

  /// Returns the first fault in one line. Is `nil` when SQLite finds none.
  private static func fault(_ db: Database, _ check: Check) throws -> String? {
    do {
      let result = try String.fetchOne(db, sql: "PRAGMA \(check.rawValue)(1)")
      return result == "ok" ? nil : result?.split(whereSeparator: \.isNewline).joined(separator: " ") ?? "no result"
    } catch let error as DatabaseError where StoreError.isDamage(error.resultCode) {
      return StoreError.words(error)
    }
  }

  /// Opens a copy, makes it a single file, and reads from it.
  static func openCopy<Value>(_ path: String, _ read: (Database) throws -> Value) throws -> Value {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction { db in
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
      return try read(db)
    }
  }
}

extension Configuration {
  /// The configuration of a connection that only reads a file, which other processes may use.
  static var reading: Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return configuration
  }
}
