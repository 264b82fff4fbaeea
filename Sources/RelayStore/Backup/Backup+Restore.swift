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
    try ofBackup { () throws(StoreError) in try DatabaseOrigin.check(path) }
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
      let contents = try ofBackup { () throws(StoreError) in try checkedCopy(of: path, to: copy) }
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

  /// Converts the errors about a backup. The advice for a damaged database does not apply to it.
  private static func ofBackup<Value>(_ body: () throws(StoreError) -> Value) throws(BackupError) -> Value {
    do {
      return try body()
    } catch .damaged(let path, let reason) {
      throw BackupError("\(path) is damaged (\(reason)): choose another backup")
    } catch {
      throw BackupError(error)
    }
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
