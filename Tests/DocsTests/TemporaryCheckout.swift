// SPDX-License-Identifier: Apache-2.0
import Foundation

@testable import docs

/// A checkout of a few files, which is gone with the value.
final class TemporaryCheckout {
  let folder = NSTemporaryDirectory() + "stillwire-docs-\(UInt64.random(in: 0...UInt64.max))"

  init(_ files: [String: String]) throws {
    for (path, text) in files {
      let file = URL(fileURLWithPath: folder).appendingPathComponent(path)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var checkout: Checkout { Checkout(folder) }

  func site(_ pages: [Plan.Page], leftOut: [Plan.Part] = []) throws(Faults) -> Site {
    try Site(Plan(groups: [Plan.Group(title: "All", pages: pages)], leftOut: leftOut), from: checkout)
  }

  /// A site of whole files, each a page of its own name in lower case.
  func site(of files: String...) throws(Faults) -> Site {
    try site(
      files.map { file in
        let name = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent.lowercased()
        return Plan.Page(name: name, title: name, parts: [.file(file)])
      })
  }
}

extension Page {
  /// Its own text, without what is around it.
  var text: String {
    var html = HTML()
    html.blocks(blocks)
    return html.source
  }
}
