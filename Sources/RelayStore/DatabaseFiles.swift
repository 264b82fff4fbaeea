// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// A file on disk, identified by device and inode. No other file has both while this one is open.
package struct FileIdentity: Equatable, Sendable {
  let device: UInt64
  let inode: UInt64

  /// Returns `nil` if the file does not exist. Follows links.
  package init?(path: String) {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    self.init(facts)
  }

  init(_ facts: stat) {
    device = UInt64(truncatingIfNeeded: facts.st_dev)
    inode = UInt64(truncatingIfNeeded: facts.st_ino)
  }
}

/// The files of an open database. If somebody removes or replaces them, SQLite still writes to the old ones, and these
/// writes are lost. Any thread.
final class DatabaseFiles: Sendable {
  /// The path of SQLite's write-ahead log. It is in the folder of the real file if `database` is a link.
  let log: String
  /// The folder, the database and the log.
  private let files: [(path: String, identity: FileIdentity)]
  /// True after a transaction was committed to files that were removed or replaced.
  private let hasLost = Atomic(false)
  /// True after a check that has failed, until one succeeds.
  private let isMissing = Atomic(false)

  /// - Parameter database: The path of an open database in WAL mode, whose log exists.
  init(database: String) throws(StoreError) {
    log = Self.resolved(database) + "-wal"
    var files: [(path: String, identity: FileIdentity)] = []
    for path in [(database as NSString).deletingLastPathComponent, database, log] {
      guard let identity = FileIdentity(path: path) else {
        throw .unusable(path: path, reason: "the file is gone")
      }
      files.append((path, identity))
    }
    self.files = files
  }

  /// Follows the links of a path, if the file exists.
  static func resolved(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  /// Throws ``StoreError/unavailable(reason:)`` when the folder or a file of the database is no longer in its place.
  func check() throws(StoreError) {
    if hasLost.load(ordering: .relaxed) {
      throw .unavailable(reason: "a commit was lost because a file of the database was removed")
    }
    let missing = files.first { FileIdentity(path: $0.path) != $0.identity }
    isMissing.store(missing != nil, ordering: .relaxed)
    if let file = missing {
      throw .unavailable(reason: StoreError.lostFile(file.path))
    }
  }

  /// Checks before a transaction if the last check has failed, so that nothing is written to removed files.
  func checkIfMissing() throws(StoreError) { if isMissing.load(ordering: .relaxed) { try check() } }

  /// Checks again after a commit, before its completions run. A commit to a removed file is lost, so after a failure
  /// every later check fails as well.
  func confirm() throws(StoreError) {
    do {
      try check()
    } catch {
      hasLost.store(true, ordering: .relaxed)
      throw error
    }
  }
}

// The names of a database that nobody has open.
extension DatabaseFiles {
  /// The ends of the names of the files that SQLite makes beside a database.
  private static let logs = ["-wal", "-shm", "-journal"]

  /// Creates an empty database that only its owner can read. Foundation would make a temporary file beside it, which a
  /// crash would leave.
  static func create(_ database: String) throws(StoreError) {
    let file = open(database, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unusable(path: database, reason: Disk.reason(at: database, code: errno)) }
    _ = close(file)
  }

  /// Removes a database and its logs, if they exist.
  static func remove(_ database: String) throws(StoreError) {
    try removeFile(database)
    try removeLogs(of: database)
  }

  /// Removes the logs of a database, if they exist.
  static func removeLogs(of database: String) throws(StoreError) {
    for end in logs { try removeFile(database + end) }
  }

  /// Gives a database and its write-ahead log a second name. Replaces an earlier database of this name.
  static func addName(_ name: String, to database: String) throws(StoreError) {
    try remove(name)
    // The database is last, so that its name shows that both have one.
    for end in ["-wal", ""] {
      guard link(database + end, name + end) == 0 || (errno == ENOENT && !end.isEmpty) else {
        throw .unusable(path: name + end, reason: Disk.reason(at: name, code: errno))
      }
    }
  }

  private static func removeFile(_ path: String) throws(StoreError) {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw .unusable(path: path, reason: String(cString: strerror(errno)))
    }
  }
}
