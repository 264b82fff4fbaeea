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
    try removeCopy(path)
    do {
      return try StoreError.opening(path) {
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
          throw StoreError.unusable(path: path, reason: "the file cannot be created")
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let source = try DatabaseQueue(path: database, configuration: configuration)
        let target = try DatabaseQueue(path: path)
        // One step: several steps would begin again after each change.
        try source.backup(to: target)
        try target.close()
        try source.close()
        return try openCopy(path) { db in
          if let fault = try pageFault(db) { throw StoreError.damaged(path: database, reason: fault) }
          return try Installation.position(db)
        }
      }
    } catch {
      try? removeCopy(path)
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
    try removeCopy(kept)
    for end in ["-wal", ""] {
      guard link(database + end, kept + end) == 0 || (errno == ENOENT && !end.isEmpty) else {
        throw .unusable(path: kept + end, reason: String(cString: strerror(errno)))
      }
    }
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
          if try Schema.migrator.hasBeenSuperseded(db) { throw StoreError.newerSchema(path: copy) }
          guard try !Schema.migrator.appliedMigrations(db).isEmpty, try db.has("SELECT 1 FROM installation") else {
            throw StoreError.unusable(path: copy, reason: "it is not a copy of a relay's database")
          }
          if let fault = try pageFault(db) { throw StoreError.damaged(path: copy, reason: fault) }
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
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(5)
      return try DatabaseQueue(path: folder.database, configuration: configuration).read(Installation.position)
    }
  }

  /// Reads all pages. Returns the first fault in one line. Is `nil` when SQLite can read all pages.
  private static func pageFault(_ db: Database) throws -> String? {
    do {
      let result = try String.fetchOne(db, sql: "PRAGMA quick_check(1)")
      return result == "ok" ? nil : result?.split(whereSeparator: \.isNewline).joined(separator: " ") ?? "no result"
    } catch let error as DatabaseError where StoreError.isDamage(error.resultCode) {
      return StoreError.words(error)
    }
  }

  /// Opens a copy, makes it a single file, and reads from it.
  private static func openCopy<Value>(_ path: String, _ read: (Database) throws -> Value) throws -> Value {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction { db in
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
      return try read(db)
    }
  }

  private static func removeCopy(_ path: String) throws(StoreError) {
    for end in ["", "-wal", "-shm", "-journal"] {
      guard unlink(path + end) == 0 || errno == ENOENT else {
        throw .unusable(path: path + end, reason: String(cString: strerror(errno)))
      }
    }
  }
}
