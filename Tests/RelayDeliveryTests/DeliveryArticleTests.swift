// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// Compares the table of rules in `Delivery.md` with the rules.
@Suite struct DeliveryArticleTests {
  private struct Row: Equatable {
    let number: Int
    let codes: Set<Reason.Code>
  }

  /// `| number | when | outcome | codes |`
  private let rows: [Row]
  /// `| codes | a later push |`, with the codes of each row.
  private let laterRows: [(codes: [Reason.Code], effect: String)]

  init() throws {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let article = checkout.appending(path: "Sources/RelayProtocol/RelayProtocol.docc/Delivery.md")
    let lines = try String(contentsOf: article, encoding: .utf8).split(separator: "\n")
    laterRows = lines.drop { $0 != "| codes | a later push |" }.dropFirst(2).prefix { $0.hasPrefix("|") }.map { line in
      let cells = line.split(separator: "|")
      return (cells[0].split(separator: "`").compactMap { Reason.Code(rawValue: String($0)) }, String(cells[1]))
    }
    rows = try lines.compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 4, let number = Int(cells[0]) else { return nil }
      let codes = try cells[3].split(separator: " ").map { code in
        try #require(Reason.Code(rawValue: code.trimmingCharacters(in: ["`"])), "\(code)")
      }
      return Row(number: number, codes: Set(codes))
    }
  }

  @Test func `the table has every rule, in order`() {
    #expect(rows.map(\.number) == Array(1...lastRule))
  }

  @Test func `the table of later pushes has the effect of each code`() throws {
    try #require(laterRows.count == 4)
    for code in Reason.Code.allCases {
      let row = laterRows.firstIndex { $0.codes.contains(code) } ?? 3
      let expected: LaterEffect = [.remove, .nothing, .show, .show][row]
      #expect(code.laterEffect == expected, "\(code.rawValue)")
    }
    let starts = zip(laterRows, ["removes", "shows no text", "waits", "may show text"])
    for (row, start) in starts { #expect(row.effect.hasPrefix(" \(start)")) }
    #expect(Set(laterRows[2].codes) == [.focused, .filtered, .quietHours])
  }

  @Test func `the table has the codes of each rule`() {
    var dice = SeededGenerator(seed: 1)
    var given: [Int: Set<Reason.Code>] = [:]
    for _ in 0..<20_000 {
      for reason in decide(.random(using: &dice)).reasons { given[reason.rule, default: []].insert(reason.code) }
    }
    for row in rows { #expect(given[row.number] == row.codes, "rule \(row.number)") }
  }
}
