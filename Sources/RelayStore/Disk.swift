// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// The file system of a path, for the errors of a start on a full disk.
struct Disk {
  /// The folder at which the file system is mounted.
  let mountPoint: String
  /// The free space in bytes, and the number of files that can still be made. `freeFiles` is `nil` for a file system
  /// without such a limit.
  let freeBytes: UInt64
  let freeFiles: UInt64?

  /// The free space below which a disk counts as full, in bytes. SQLite needs this space for the file that readers and
  /// the writer share, and for the first pages of its log.
  static let minFree: UInt64 = 128 << 10
}

extension Disk {
  /// - Parameter path: It need not exist.
  init?(of path: String) {
    var folder = Self.nearest(path)
    var facts = statvfs()
    guard statvfs(folder, &facts) == 0, let device = FileIdentity(path: folder)?.device else { return nil }
    while folder != "/", FileIdentity(path: Self.parent(folder))?.device == device { folder = Self.parent(folder) }
    // Only the superuser can use the reserved blocks.
    let isSuperuser = geteuid() == 0
    self.init(
      mountPoint: folder,
      freeBytes: UInt64(isSuperuser ? facts.f_bfree : facts.f_bavail) * UInt64(facts.f_frsize),
      freeFiles: facts.f_files == 0 ? nil : UInt64(isSuperuser ? facts.f_ffree : facts.f_favail))
  }

  var isFull: Bool { freeBytes < Self.minFree || freeFiles == 0 }

  /// Returns the reason why a file of this size in bytes does not fit. Is `nil` if it fits, and some space remains for
  /// the other files of the disk.
  func obstacle(to size: UInt64) -> String? {
    guard !isFull else { return reason }
    guard freeBytes < size + Self.minFree else { return nil }
    return "the disk that is mounted at \(mountPoint) has \(freeBytes) free bytes, and the copy needs \(size)"
  }

  /// The reason for an error of a full disk.
  var reason: String {
    "the disk that is mounted at \(mountPoint) is full: "
      + (freeFiles == 0 ? "it accepts no more files" : "it has \(freeBytes) free bytes")
  }

  /// Returns the reason for an error about a path: the full disk if it is full, or else `reason`.
  static func reason(at path: String, else reason: String) -> String {
    guard let disk = Disk(of: path), disk.isFull else { return reason }
    return disk.reason
  }

  /// Returns the reason for an error of the system about a path.
  /// - Parameter code: An `errno`.
  static func reason(at path: String, code: Int32) -> String {
    let words = String(cString: strerror(code))
    return [ENOSPC, EDQUOT].contains(code) ? Disk(of: path)?.reason ?? words : words
  }

  /// Returns the reason for an error of SQLite about a path. An error of another kind, such as a lock, keeps its own
  /// reason also on a full disk.
  static func reason(at path: String, _ error: any Error) -> String {
    let words = StoreError.words(error)
    guard let error = error as? DatabaseError else { return words }
    switch error.resultCode {
    case .SQLITE_FULL: return Disk(of: path)?.reason ?? words
    case .SQLITE_IOERR, .SQLITE_CANTOPEN: return reason(at: path, else: words)
    default: return words
    }
  }

  /// The path itself or the nearest folder above it that exists, without links.
  private static func nearest(_ path: String) -> String {
    var path = path
    while FileIdentity(path: path) == nil {
      let folder = Self.parent(path)
      guard folder != path, !folder.isEmpty else { return DatabaseFiles.resolved(path.hasPrefix("/") ? "/" : ".") }
      path = folder
    }
    return DatabaseFiles.resolved(path)
  }

  private static func parent(_ path: String) -> String { (path as NSString).deletingLastPathComponent }
}

extension Disk {
  /// Returns when the contents of a file are on the disk.
  static func synchronize(_ path: String) throws(StoreError) { try synchronize(path, ignoring: []) }

  /// Returns when the names in the folder of a file are on the disk. A new name is not durable earlier.
  static func synchronizeFolder(of path: String) throws(StoreError) {
    let folder = parent(path)
    // Some remote file systems cannot synchronize a folder.
    try synchronize(folder.isEmpty ? "." : folder, ignoring: [EINVAL, ENOTSUP])
  }

  private static func synchronize(_ path: String, ignoring ignored: [Int32]) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .unusable(path: path, reason: reason(at: path, code: errno)) }
    defer { _ = close(descriptor) }
    guard fsync(descriptor) == 0 || ignored.contains(errno) else {
      throw .unusable(path: path, reason: reason(at: path, code: errno))
    }
  }

  /// Returns the reason why SQLite cannot lock a file, as on some remote file systems. Is `nil` if it can. Makes the
  /// file, and removes it.
  static func lockFailure(at path: String) -> String? {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return reason(at: path, code: errno) }
    defer {
      _ = close(descriptor)
      _ = unlink(path)
    }
    var lock = flock()
    (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    guard fcntl(descriptor, F_SETLK, &lock) != 0 else { return nil }
    return
      "the disk cannot lock files (\(String(cString: strerror(errno)))): choose a folder on a local disk, and copy "
      + "the file afterwards"
  }
}
