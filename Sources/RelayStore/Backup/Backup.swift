// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Backups of a data folder, and their restore. Each is a copy in one step, see `Replica+Copy.swift`, which is checked
/// before it gets its name.
public enum Backup {
  /// The end of the name of the folder in which a backup is made, after that of the backup.
  static let working = ".partial"

  /// Copies the database of a folder to a file, also while a relay uses the folder. The copy contains everything that
  /// was acknowledged before the call. Only its owner can read it.
  ///
  /// The file appears when it is complete and on disk. A crash leaves the folder `FILE.partial`, which the next backup to
  /// the same file replaces.
  /// - Parameter replaces: False if the file must not exist.
  public static func make(
    folder: String, at path: String, replaces: Bool
  ) throws(BackupError) -> BackupContents {
    let database = DatabaseFiles.resolved(folder + "/stillwire.db")
    guard let identity = FileIdentity(path: database) else {
      throw BackupError("the folder \(folder) has no database stillwire.db: name the data folder with --data")
    }
    try checkName(path, folder: folder, database: database, replaces: replaces)
    guard !CopyInstallation.isInterrupted(at: database) else {
      throw BackupError("a restore to \(folder) was interrupted: start the relay, which completes it")
    }
    try BackupError.converting { () throws(StoreError) in try DatabaseOrigin.check(database) }
    let contents = try inWorkingFolder(path) { copy throws(BackupError) in
      let contents = try BackupError.converting { () throws(StoreError) in try checkedCopy(of: database, to: copy) }
      // A node of a cluster may have replaced its database.
      guard FileIdentity(path: database) == identity else {
        throw BackupError("\(database) was replaced during the backup: try again")
      }
      try BackupError.converting { () throws(StoreError) in try Disk.synchronize(copy) }
      // Somebody may have made the file meanwhile.
      try checkName(path, folder: folder, database: database, replaces: replaces)
      guard rename(copy, path) == 0 else { throw BackupError("\(path): \(Disk.reason(at: path, code: errno))") }
      return contents
    }
    try BackupError.converting { () throws(StoreError) in try Disk.synchronizeFolder(of: path) }
    return contents
  }

  /// Copies a database to a file of a disk that has space for it, and checks all of the copy.
  static func checkedCopy(of database: String, to copy: String) throws(StoreError) -> BackupContents {
    try DatabaseFiles.remove(copy)
    let size = try StoreError.opening(database) {
      let queue = try DatabaseQueue(path: database, configuration: .reading)
      defer { try? queue.close() }
      return try queue.read { db in
        try Replica.checkSchema(db, at: database)
        return try db.byteCount
      }
    }
    // A disk that becomes full would stop a relay that also uses it.
    if let reason = Disk(of: copy)?.obstacle(to: UInt64(size)) { throw .unusable(path: copy, reason: reason) }
    return try Replica.copy(database: database, to: copy, check: .indexes) { try BackupContents($0) }
  }

  /// Refuses a name that must not be replaced.
  private static func checkName(
    _ path: String, folder: String, database: String, replaces: Bool
  ) throws(BackupError) {
    let target = path as NSString
    let parent = DatabaseFiles.resolved(
      target.deletingLastPathComponent.isEmpty ? "." : target.deletingLastPathComponent)
    let own = [DatabaseFiles.resolved(folder), (database as NSString).deletingLastPathComponent]
    guard !own.contains(parent) || !target.lastPathComponent.hasPrefix("stillwire.") else {
      throw BackupError("\(path) is a name of the relay's own files: choose another one")
    }
    var facts = stat()
    guard lstat(path, &facts) == 0 else { return }
    guard facts.st_mode & S_IFMT != S_IFDIR else { throw BackupError("\(path) is a folder: add the name of a file") }
    guard replaces else { throw BackupError("\(path) exists: choose another name, or replace it with --force") }
  }

  /// Makes the folder beside a backup, and locks it against a second backup to the same file. Removes it at the end.
  private static func inWorkingFolder<Value>(
    _ path: String, _ body: (_ copy: String) throws(BackupError) -> Value
  ) throws(BackupError) -> Value {
    let folder = path + working
    if mkdir(folder, 0o700) != 0 {
      guard errno == EEXIST else { throw BackupError("\(folder): \(Disk.reason(at: folder, code: errno))") }
      guard isOwn(folder) else { throw BackupError("\(folder) is not the rest of a backup: choose another name") }
    }
    let lock: FolderLock
    do {
      lock = try FolderLock(folder: folder)
    } catch .inUse {
      throw BackupError("another backup writes \(path)")
    } catch {
      _ = rmdir(folder)
      throw BackupError(error)
    }
    let copy = folder + "/stillwire.db"
    defer {
      try? DatabaseFiles.remove(copy)
      _ = unlink(folder + "/stillwire.lock")
      _ = rmdir(folder)
      lock.release()
    }
    if let reason = Disk.lockFailure(at: copy) { throw BackupError("\(folder): \(reason)") }
    return try body(copy)
  }

  /// True if an earlier backup of this user has made the folder: its files may be deleted.
  private static func isOwn(_ folder: String) -> Bool {
    var facts = stat()
    guard lstat(folder, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, facts.st_mode & 0o777 == 0o700,
      facts.st_uid == geteuid(), let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
    else { return false }
    return names.allSatisfy { $0.hasPrefix("stillwire.db") || $0 == "stillwire.lock" }
  }
}
