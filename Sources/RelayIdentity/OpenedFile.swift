// SPDX-License-Identifier: Apache-2.0
import CoreFoundation
import Foundation

/// A file with a secret, read once.
///
/// The contents and the permissions are read from one descriptor. A symbolic link therefore counts as its target, as in
/// a mounted Kubernetes Secret. If the file is replaced during the read, the permissions still belong to the contents.
struct OpenedFile {
  let data: Data
  /// The permission bits.
  let mode: Int

  /// Returns `nil` if the file or its permissions cannot be read.
  init?(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, let data = try? file.readToEnd() ?? Data() else { return nil }
    self.data = data
    mode = Int(status.st_mode) & 0o7777
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
