// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// A folder with a database, locked for this process.
struct DataFolder {
  let path: String
  let lock: FolderLock
  /// The path of the database, which need not exist.
  let database: String

  /// Creates the folder if it does not exist. Ends an installation of a copy that a crash has interrupted. Refuses the
  /// database of another program, and a damaged one.
  /// - Parameter acceptsDamage: True if a copy replaces the database, which may be damaged.
  init(_ folder: String, acceptsDamage: Bool = false) throws(StoreError) {
    do {
      // Other users of the machine must not read messages and tokens.
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .unusable(path: folder, reason: Disk.reason(at: folder, else: "the folder cannot be created"))
    }
    path = folder
    lock = try FolderLock(folder: folder)
    database = folder + "/stillwire.db"
    try CopyInstallation.finish(at: database)
    do {
      try DatabaseOrigin.check(database)
    } catch StoreError.damaged where acceptsDamage {
      // Nobody can read it.
    }
  }

  /// Creates an empty database if there is none.
  func createDatabase() {
    let files = FileManager.default
    guard !files.fileExists(atPath: database) else { return }
    // SQLite gives its log the same permissions.
    _ = files.createFile(atPath: database, contents: nil, attributes: [.posixPermissions: 0o600])
  }

  /// Prepares the connection that writes to the database.
  static func prepare(_ db: Database, _ synchronous: Synchronous, maxLog: Int = LogBound.standard) throws {
    try db.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
    // 16 MiB, so that the newest pages of many rooms stay in memory.
    try db.execute(sql: "PRAGMA cache_size = -16384")
    // Moves the log into the database every 16 MiB instead of 4. The newest page of a busy room is then written once
    // for many messages, and the writer waits for the disk less often.
    try db.execute(sql: "PRAGMA wal_autocheckpoint = 4096")
    // Otherwise the file of the log would keep its largest size until a restart of the relay.
    try db.execute(sql: "PRAGMA journal_size_limit = \(maxLog)")
    // Overwrites deleted contents, so that nothing of an erased user stays in the file.
    try db.execute(sql: "PRAGMA secure_delete = ON")
    // An empty transaction finds a file that cannot be written now, and not at the first message.
    try db.inTransaction(.immediate) { .commit }
  }
}
