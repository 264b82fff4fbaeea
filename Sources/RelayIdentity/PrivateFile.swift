// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A file with a key that nobody else may read.
public struct PrivateFile {
  public let text: String

  /// Throws ``StartupError``.
  /// - Parameter place: The configuration's name of the file.
  package init(_ path: String, at place: String) throws(StartupError) {
    guard let file = OpenedFile(path) else {
      throw StartupError("\(place): \(path) cannot be read")
    }
    try file.checkMode(of: path, at: place)
    text = String(decoding: file.data, as: UTF8.self)
  }

  /// Writes a new one. Throws ``StartupError`` when there is a file already.
  public static func make(_ text: String, at path: String) throws(StartupError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else {
      throw StartupError(
        errno == EEXIST ? "\(path) is there already, and is not replaced" : "\(path) cannot be written")
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
