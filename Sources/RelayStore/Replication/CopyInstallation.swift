// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// Replaces a database by a copy. A crash leaves the old database or the new one.
///
/// SQLite would write the log of the old database into the new one, and two files cannot be changed at once. The copy
/// therefore first gets a name of its own. From then on, each start ends the installation before it opens a database.
/// The caller has the folder locked.
enum CopyInstallation {
  enum Step: CaseIterable {
    /// Gives the copy the name that makes it count.
    case stage
    /// Removes the log of the old database.
    case removeLog
    /// Gives the copy the name of the database.
    case replace
  }

  /// The name of the staged copy, after that of the database.
  static let suffix = ".installed"

  /// Installs a copy that was checked.
  /// - Parameters:
  ///   - copy: A database in one file, on the file system of the database. It is moved.
  ///   - steps: All of them, except in tests of a crash.
  static func install(
    _ copy: String, at database: String, steps: some Sequence<Step> = Step.allCases
  ) throws(StoreError) {
    guard chmod(copy, 0o600) == 0 else { throw failure(copy) }
    try synchronize(copy)
    let database = DatabaseFiles.resolved(database)
    for step in steps { try perform(step, copy, database) }
  }

  /// Ends an installation that a crash has interrupted, if there is one.
  static func finish(at database: String) throws(StoreError) {
    let database = DatabaseFiles.resolved(database)
    guard access(database + suffix, F_OK) == 0 else { return }
    try perform(.removeLog, "", database)
    try perform(.replace, "", database)
  }

  private static func perform(_ step: Step, _ copy: String, _ database: String) throws(StoreError) {
    let staged = database + suffix
    switch step {
    case .stage: guard rename(copy, staged) == 0 else { throw failure(copy) }
    case .removeLog:
      for end in ["-wal", "-shm", "-journal"] {
        guard unlink(database + end) == 0 || errno == ENOENT else { throw failure(database + end) }
      }
    case .replace: guard rename(staged, database) == 0 else { throw failure(staged) }
    }
    // A new name is durable only after the folder is synchronized.
    try synchronize((database as NSString).deletingLastPathComponent)
  }

  private static func synchronize(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path) }
    defer { _ = close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(path) }
  }

  private static func failure(_ path: String) -> StoreError {
    .unusable(path: path, reason: String(cString: strerror(errno)))
  }
}
