// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayCore
@testable import RelayHTTP

/// The tables of the articles contain every close code, delivery state, route and method of the code.
@Suite struct ArticleTests {
  private static func article(_ name: String) throws -> [Substring] {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let file = checkout.appending(path: "Sources/RelayProtocol/RelayProtocol.docc/\(name).md")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
  }

  /// The cells of the table rows with this number of columns.
  private static func rows(of article: String, columns: Int) throws -> [[String]] {
    try Self.article(article).compactMap { line in
      guard line.hasPrefix("|"), line.hasSuffix("|") else { return nil }
      let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
      return cells.count == columns ? cells.map { $0.trimmingCharacters(in: .whitespaces) } : nil
    }
  }

  @Test func `the table of close codes has every code, and states after which codes clients reconnect`() throws {
    let rows = try Self.rows(of: "Protocol", columns: 3).filter { UInt16($0[0]) != nil }
    #expect(rows.map { UInt16($0[0]) } == CloseCode.allCases.map(\.rawValue))
    for row in rows {
      let code = try #require(UInt16(row[0]).flatMap(CloseCode.init(rawValue:)))
      #expect(row[2].hasPrefix("yes") == code.reconnects, "\(code)")
      #expect(!row[1].isEmpty)
    }
  }

  @Test func `the table of delivery states has every state`() throws {
    let named = Set(try Self.rows(of: "Delivery", columns: 2).map { $0[0].trimmingCharacters(in: ["`"]) })
    for state in DeliveryState.allCases { #expect(named.contains(state.rawValue), "\(state)") }
    let event = try Self.rows(of: "Protocol", columns: 2).first { $0[0] == "`delivery`" }
    for state in DeliveryState.allCases { #expect(event?[1].contains("`\(state.rawValue)`") == true, "\(state)") }
  }

  @Test func `the article has the limit of users of a token, and the warning beyond it`() throws {
    let text = try Self.article("Protocol").joined(separator: " ")
    #expect(text.contains("to at most \(Device.maxAccounts) users"))
    #expect(text.contains(ReplyWarning.Code.accountEnded.rawValue))
  }

  @Test func `the table of the HTTP API has every resource and method`() throws {
    var named: [String: Set<String>] = [:]
    for row in try Self.rows(of: "Protocol", columns: 2) {
      let words = row[0].split { " ,`".contains($0) }.map(String.init)
      let methods = words.filter { $0.allSatisfy(\.isUppercase) }
      guard !methods.isEmpty else { continue }
      var path = ""
      for word in words where !methods.contains(word) {
        // `…/filter` is the previous path with another last part.
        path =
          word.hasPrefix("…/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + word.dropFirst()) : word
        named[path, default: []].formUnion(methods)
      }
    }
    for route in HTTPService.routes {
      let missing = Set(route.actions.map(\.method)).subtracting(named[route.path.description, default: []])
      #expect(missing.isEmpty, "\(missing.sorted()) \(route.path)")
    }
  }
}
