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
