// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
package import Foundation

/// A file that the configuration names, read once.
///
/// Only a regular file is read: a read of a pipe or a device might never end. The contents and the permissions are read
/// from one descriptor. A symbolic link therefore counts as its target, as in a mounted Kubernetes Secret. If the file
/// is replaced during the read, the permissions still belong to the contents.
package struct OpenedFile {
  package let data: Data
  /// The permission bits.
  let mode: Int

  /// Reads the file. Throws ``StartupError`` if it cannot be read, or if it is not a regular file.
  /// - Parameters:
  ///   - subject: The setting or the purpose of the file, for errors: `the secret file`.
  ///   - maxSize: The maximum size of ``data``, in bytes. The rest of a larger file is not read.
  package init(_ path: String, as subject: String, maxSize: Int = .max) throws(StartupError) {
    try Self.checkKind(of: path, as: subject)
    // Does not wait if a pipe has replaced the file.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw StartupError("\(subject) \(path) cannot be read") }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, Self.kind(of: status) == nil,
      let data = try? maxSize == .max ? file.readToEnd() ?? Data() : file.read(upToCount: maxSize) ?? Data()
    else { throw StartupError("\(subject) \(path) cannot be read") }
    self.data = data
    mode = Int(status.st_mode) & 0o7777
  }

  /// Throws ``StartupError`` if the path leads to something else than a regular file. A path that leads nowhere passes.
  package static func checkKind(of path: String, as subject: String) throws(StartupError) {
    var status = stat()
    guard stat(path, &status) == 0, let kind = kind(of: status) else { return }
    throw StartupError("\(subject) \(path) cannot be read: it is \(kind), and not a regular file")
  }

  /// The kind of a file in words. Is `nil` for a regular file.
  private static func kind(of status: stat) -> String? {
    switch status.st_mode & S_IFMT {
    case S_IFREG: nil
    case S_IFDIR: "a folder"
    case S_IFIFO: "a named pipe"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }

  /// Throws ``StartupError`` if users other than the owner and the group have any permission on the file.
  /// - Parameters:
  ///   - path: The path that the file was opened by.
  ///   - setting: The name of the file's setting, for the error.
  func checkMode(of path: String, at setting: String) throws(StartupError) {
    guard mode & 0o007 == 0 else {
      throw StartupError("\(setting): \(path) can be read by others: chmod o= it")
    }
  }
}
