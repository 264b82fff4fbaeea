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
    /// Gives the old database another name, if it stays.
    case keep
    /// Removes the log of the old database.
    case removeLog
    /// Gives the copy the name of the database.
    case replace
  }

  /// The fate of the old database. The value is the end of the name of the staged copy, after that of the database.
  enum Replacement: String, CaseIterable {
    /// The old database is deleted, because the log of a cluster has its data.
    case deleting = ".installed"
    /// The old database stays beside the new one, see ``keptName(beside:)``.
    case keeping = ".restored"
  }

  /// Installs a copy that was checked.
  /// - Parameters:
  ///   - copy: A database in one file, on the file system of the database. It is moved.
  ///   - steps: All of them, except in tests of a crash.
  /// - Returns: The path of the old database, if it stays.
  @discardableResult
  static func install(
    _ copy: String, at database: String, _ replacement: Replacement = .deleting,
    steps: some Sequence<Step> = Step.allCases
  ) throws(StoreError) -> String? {
    guard chmod(copy, 0o600) == 0 else { throw failure(copy) }
    try Disk.synchronize(copy)
    let database = DatabaseFiles.resolved(database)
    var kept: String?
    for step in steps {
      do {
        kept = try perform(step, copy, database, replacement) ?? kept
      } catch {
        // The old database is complete until its log is removed.
        if step == .keep { _ = rename(database + replacement.rawValue, copy) }
        throw error
      }
    }
    return kept
  }

  /// True if a crash has interrupted an installation, which the next start ends.
  static func isInterrupted(at database: String) -> Bool {
    let database = DatabaseFiles.resolved(database)
    return Replacement.allCases.contains { access(database + $0.rawValue, F_OK) == 0 }
  }

  /// The name of a copy that a restore makes. Only an installation gives it another name.
  static func incoming(_ database: String) -> String { DatabaseFiles.resolved(database) + ".incoming" }

  /// Ends an installation that a crash has interrupted, if there is one. Removes the copy of a restore that a crash has
  /// interrupted earlier.
  static func finish(at database: String) throws(StoreError) {
    try DatabaseFiles.remove(incoming(database))
    let database = DatabaseFiles.resolved(database)
    for replacement in Replacement.allCases where access(database + replacement.rawValue, F_OK) == 0 {
      do {
        for step in Step.allCases where step != .stage { _ = try perform(step, "", database, replacement) }
      } catch  where replacement == .keeping && access(database, F_OK) == 0 && !isKept(database) {
        // The old database cannot be kept, so it is not replaced. It is complete.
        try DatabaseFiles.remove(database + replacement.rawValue)
      }
    }
  }

  /// True if the database has its second name, beside the new one.
  private static func isKept(_ database: String) -> Bool {
    FileIdentity(path: keptName(beside: database)) == FileIdentity(path: database)
  }

  /// Returns the name that the old database gets: `stillwire.db.before-1`, or with the next free number.
  private static func keptName(beside database: String) -> String {
    let present = FileIdentity(path: database)
    var number = 1
    // A step that was interrupted has given the name already.
    while let identity = FileIdentity(path: "\(database).before-\(number)"), identity != present { number += 1 }
    return "\(database).before-\(number)"
  }

  private static func perform(
    _ step: Step, _ copy: String, _ database: String, _ replacement: Replacement
  ) throws(StoreError) -> String? {
    let staged = database + replacement.rawValue
    var kept: String?
    switch step {
    case .stage: guard rename(copy, staged) == 0 else { throw failure(copy) }
    case .keep:
      guard replacement == .keeping, let present = FileIdentity(path: database) else { return nil }
      let name = keptName(beside: database)
      if FileIdentity(path: name) != present { try DatabaseFiles.addName(name, to: database) }
      kept = name
    case .removeLog: try DatabaseFiles.removeLogs(of: database)
    case .replace: guard rename(staged, database) == 0 else { throw failure(staged) }
    }
    try Disk.synchronizeFolder(of: database)
    return kept
  }

  private static func failure(_ path: String) -> StoreError {
    .unusable(path: path, reason: Disk.reason(at: path, code: errno))
  }
}
