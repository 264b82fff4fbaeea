// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The files that the site is made from. Paths are those of the repository: `deploy/README.md`.
struct Checkout {
  let root: URL

  init(_ folder: String) {
    root = URL(fileURLWithPath: folder, isDirectory: true)
  }

  func text(_ path: String) throws(Faults) -> String {
    guard let text = String(data: try bytes(path), encoding: .utf8) else {
      throw Faults(Place(file: path), "is not UTF-8")
    }
    return text
  }

  func bytes(_ path: String) throws(Faults) -> Data {
    guard let bytes = FileManager.default.contents(atPath: root.appendingPathComponent(path).path) else {
      throw Faults(Place(file: path), "cannot be read")
    }
    return bytes
  }

  /// Whether there is such a file or folder.
  func has(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
  }
}
