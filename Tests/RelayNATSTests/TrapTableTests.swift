// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// The table of traps in Sources/RelayNATS/README.md names tests that exist.
@Suite struct TrapTableTests {
  private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

  private static func text(_ folders: [String]) throws -> String {
    try folders.flatMap { folder in
      try FileManager.default.contentsOfDirectory(at: tests.appending(path: folder), includingPropertiesForKeys: nil)
    }
    .filter { ["swift", "py"].contains($0.pathExtension) && $0.lastPathComponent != "TrapTableTests.swift" }
    .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
  }

  @Test func `each trap of NATS names a test that exists`() throws {
    let readme = Self.tests.deletingLastPathComponent().appending(path: "Sources/RelayNATS/README.md")
    let rows = try String(contentsOf: readme, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
    let tests = try Self.text(["RelayNATSTests", "RelayClusterTests", "Cluster"])
    #expect(rows.count > 20)
    for row in rows.dropFirst() {
      let column = row.split(separator: "|").last { !$0.allSatisfy(\.isWhitespace) } ?? ""
      let names = column.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 }.map { String($0.element) }
      #expect(!names.isEmpty, "\(row)")
      for name in names {
        let isTest = ["func `\(name)`", "def \(name)(", "Row(\n      \"\(name)\"", "Row(\"\(name)\""].contains {
          tests.contains($0)
        }
        #expect(isTest, "\(name)")
      }
    }
  }
}
