// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A file with a key. Only the owner and the group may have permissions on it.
public struct PrivateFile {
  public let text: String

  /// Reads the file. Throws ``StartupError``, also if other users have any permission on the file.
  /// - Parameter location: The name of the file's setting, for errors.
  package init(_ path: String, at location: String) throws(StartupError) {
    let file = try OpenedFile(path, as: "\(location):")
    try file.checkMode(of: path, at: location)
    text = String(decoding: file.data, as: UTF8.self)
  }

  /// Writes a new file that only the owner may read. Throws ``StartupError`` if the file exists.
  public static func make(_ text: String, at path: String) throws(StartupError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else {
      throw StartupError(
        errno == EEXIST ? "\(path) already exists, and is not replaced" : "\(path) cannot be written")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: Data(text.utf8))
      try file.synchronize()
    } catch {
      throw StartupError("\(path) cannot be written")
    }
  }
}
