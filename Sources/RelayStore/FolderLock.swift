// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// The locks that prevent a second server from opening a folder. The kernel frees them when the process ends, even
/// after a crash.
///
/// The folder itself is locked, because somebody may remove the lock file. The lock file serves on file systems that
/// cannot lock folders.
final class FolderLock: Sendable {
  /// Open while the locks are held.
  private let descriptors: Mutex<[Int32]>

  init(folder: String) throws(StoreError) {
    let path = folder + "/stillwire.lock"
    descriptors = Mutex([])
    let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      descriptors.withLock { $0.append(directory) }
      if flock(directory, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { throw .inUse(path: folder) }
    }
    // The relay's user may write to the folder, so a link must not lead the superuser to another file.
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw .unusable(path: path, reason: Disk.reason(at: folder, code: errno)) }
    descriptors.withLock { $0.append(file) }
    // The relay must be able to open a file that a command of the superuser has made.
    var (facts, own) = (stat(), stat())
    if geteuid() == 0, stat(folder, &facts) == 0, fstat(file, &own) == 0, own.st_mode & S_IFMT == S_IFREG,
      own.st_nlink == 1
    {
      _ = fchown(file, facts.st_uid, facts.st_gid)
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      throw errno == EWOULDBLOCK
        ? .inUse(path: folder) : .unusable(path: path, reason: Disk.reason(at: folder, code: errno))
    }
  }

  /// Frees the folder for another process. A second call does nothing.
  func release() {
    descriptors.withLock { descriptors in
      for descriptor in descriptors {
        // Until a program that this process starts has replaced its copy of this process, the copy keeps the descriptor
        // open, and a lock that is only closed would last as long.
        _ = flock(descriptor, LOCK_UN)
        _ = close(descriptor)
      }
      descriptors = []
    }
  }

  deinit { release() }
}
