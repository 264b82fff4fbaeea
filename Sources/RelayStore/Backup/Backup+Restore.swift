// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

extension Backup {
  /// The result of a restore.
  public struct Restored: Equatable, Sendable {
    public let contents: BackupContents
    /// The path of the database that the folder had before. Is `nil` if it had none.
    public let kept: String?
  }

  /// Replaces the database of a folder by a copy of a backup, which stays as it is. No relay may use the folder. The
  /// present database stays beside the new one under a name of its own, also if it is damaged.
  ///
  /// A crash leaves the old database or the new one. The next start of the relay begins new epochs, and cancels the pushes
  /// of the backup.
  public static func restore(_ path: String, to folder: String) throws(BackupError) -> Restored {
    guard let identity = FileIdentity(path: path) else { throw BackupError("\(path) does not exist") }
    try check(path)
    let data: DataFolder
    do {
      data = try DataFolder(folder, acceptsDamage: true)
    } catch .inUse {
      throw BackupError("a relay uses the folder \(folder): stop it first")
    } catch {
      throw BackupError(error)
    }
    defer { data.lock.release() }
    guard FileIdentity(path: data.database) != identity else {
      throw BackupError("\(path) is the present database of the folder")
    }
    let copy = CopyInstallation.incoming(data.database)
    do {
      let contents = try read(path, to: copy)
      return try BackupError.converting { () throws(StoreError) in
        try StoreError.opening(copy) { try Replica.openCopy(copy, Installation.markRestored) }
        try giveOwner(of: folder, to: copy)
        return Restored(
          contents: contents, kept: try CopyInstallation.install(copy, at: data.database, .keeping))
      }
    } catch {
      try? DatabaseFiles.remove(copy)
      throw error
    }
  }

  /// Throws an error if the file is not a database of a relay. Does not read all of it.
  private static func check(_ path: String) throws(BackupError) {
    do throws(StoreError) {
      try DatabaseOrigin.check(path)
    } catch {
      throw ofBackup(error)
    }
  }

  private static func read(_ path: String, to copy: String) throws(BackupError) -> BackupContents {
    do throws(StoreError) {
      return try checkedCopy(of: path, to: copy)
    } catch {
      throw ofBackup(error)
    }
  }

  /// The advice for a damaged database does not apply to a backup.
  private static func ofBackup(_ error: StoreError) -> BackupError {
    guard case .damaged(let path, let reason) = error else { return BackupError(error) }
    return BackupError("\(path) is damaged (\(reason)): choose another backup")
  }

  /// Lets the relay's user read a file that the superuser has made.
  private static func giveOwner(of folder: String, to path: String) throws(StoreError) {
    var facts = stat()
    guard geteuid() == 0, stat(folder, &facts) == 0 else { return }
    guard lchown(path, facts.st_uid, facts.st_gid) == 0 else {
      throw .unusable(path: path, reason: String(cString: strerror(errno)))
    }
  }
}
