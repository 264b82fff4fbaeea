// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// The lock that keeps a second server off a folder. The kernel frees it when the process ends, however it ends.
final class FolderLock: Sendable {
  /// Open while the lock is held.
  private let descriptor: Mutex<Int32?>

  init(folder: String) throws(StoreError) {
    let path = folder + "/stillwire.lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .unusable(path: path, reason: Self.reason()) }
    self.descriptor = Mutex(descriptor)
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw errno == EWOULDBLOCK ? .inUse(path: folder) : .unusable(path: path, reason: Self.reason())
    }
  }

  /// Lets another process have the folder; a second call does nothing.
  func release() {
    descriptor.withLock { descriptor in
      if let descriptor { _ = close(descriptor) }
      descriptor = nil
    }
  }

  deinit { release() }

  private static func reason() -> String { String(cString: strerror(errno)) }
}
