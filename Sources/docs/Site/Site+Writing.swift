// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Site {
  /// Its style sheet, which begins where that of the relay's page ends.
  private static let styles = "Sources/docs/docs.css"

  /// The site's files by name.
  func files(from checkout: Checkout) throws(Faults) -> [String: Data] {
    var files = ["docs.css": try checkout.bytes(Self.styles)]
    for (name, file) in pictures { files[name] = try checkout.bytes(file) }
    for page in pages { files[page.name + ".html"] = Data(html(of: page).utf8) }
    return files
  }

  /// Writes all files, and removes pages that an earlier site had. A folder with other pages is left alone.
  func write(to folder: String, from checkout: Checkout) throws {
    let files = try files(from: checkout)
    let folder = URL(fileURLWithPath: folder, isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let known = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    guard known.contains("docs.css") || !known.contains(where: { $0.hasSuffix(".html") }) else {
      throw Faults(Place(file: folder.path), "the folder has pages, and is no documentation of Stillwire")
    }
    for old in known where old.hasSuffix(".html") && files[old] == nil {
      try FileManager.default.removeItem(at: folder.appendingPathComponent(old))
    }
    for (name, bytes) in files { try bytes.write(to: folder.appendingPathComponent(name)) }
  }
}
