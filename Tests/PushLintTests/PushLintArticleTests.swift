// SPDX-License-Identifier: Apache-2.0
import Foundation
import PushLint
import Testing

/// Checks that the tables of the article match the code.
@Suite struct PushLintArticleTests {
  @Test func `the article lists every rule in order, with its severity and summary`() throws {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let article = checkout.appending(path: "Sources/RelayProtocol/RelayProtocol.docc/PushLint.md")
    // `| id | severity | what |`
    let rows = try String(contentsOf: article, encoding: .utf8).split(separator: "\n").compactMap { line -> [String]? in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return cells.count == 3 && cells[0].hasPrefix("`") ? cells : nil
    }
    let rules = LintRule.allCases.map { ["`\($0.rawValue)`", $0.severity.rawValue, $0.summary] }
    #expect(rows == rules)
  }
}
