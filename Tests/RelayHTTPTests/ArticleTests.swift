// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayHub
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayCommands
@testable import RelayHTTP
@testable import RelayRequests

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

  @Test func `the tables of requests have the fields of every frame`() throws {
    let components = try JSONParser(maxDepth: 64).document(Document.asyncAPI.text)["components"]
    let lines = try Self.article("Protocol")
    var found: [String] = []
    for start in lines.indices where lines[start] == "| request | fields | reply |" {
      for line in lines[start...].dropFirst(2).prefix(while: { $0.hasPrefix("|") }) {
        let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
          $0.trimmingCharacters(in: .whitespaces)
        }
        for request in cells[1].replacing("`", with: "").split(separator: ", ").map(String.init) {
          var payload = try #require(components?["messages"]?[request]?["payload"], "\(request)")
          for name in ["type", "id"] { payload["properties"]?[name] = nil }
          let fields = Self.fields(of: payload, components?["schemas"]).joined(separator: ", ")
          #expect(cells[2] == fields || cells[2].hasPrefix("\(fields): "), "the fields of \(request) are: \(fields)")
          found.append(request)
        }
      }
    }
    #expect(found.sorted() == (Commands.frames.map(\.name) + Commands.hubFrames.map { $0.name }).sorted())
  }

  @Test func `the protocol has the fields of a message, in an event and in a reply`() throws {
    let components = try JSONParser(maxDepth: 64).document(Document.asyncAPI.text)["components"]
    let schemas = components?["schemas"]
    var event = try #require(components?["messages"]?["event.message"]?["payload"])
    event["properties"]?["type"] = nil
    let row = try Self.rows(of: "Protocol", columns: 2).first { $0[0] == "`message`" }
    let ofEvent = Self.fields(of: event, schemas, withValues: false).joined(separator: ", ")
    #expect(row?[1].hasPrefix("\(ofEvent): ") == true, "the row of `message` begins with: \(ofEvent)")
    let ofReply = try Self.fields(of: #require(schemas?["Message"]), schemas, withValues: false).joined(separator: ", ")
    let sentence = "A message in a reply is {\(ofReply)}."
    #expect(try Self.article("Protocol").joined(separator: " ").contains(sentence), "the sentence is: \(sentence)")
  }

  @Test(arguments: [
    ("ProfileChange", nil), ("PreferenceChange", nil), ("RoomWish", nil), ("QuietHours", nil), ("BreakThrough", nil),
    ("PushRequest", 4),
  ]) func `the protocol has the fields, or the first fields, of a schema with their meanings`(
    name: String, count: Int?
  ) throws {
    let schemas = try JSONParser(maxDepth: 64).document(Document.openAPI.text)["components"]?["schemas"]
    let schema = try #require(schemas?[name])
    let rows = zip(schema["properties"]?.members ?? [], Self.fields(of: schema, schemas)).prefix(count ?? .max).map {
      "| \($1) | \($0.value["description"]?.text ?? "") |"
    }
    #expect(!rows.isEmpty && rows.count == count ?? rows.count)
    // A table of all fields has no other row.
    let end = count == nil ? [""] : []
    let table = (["| field | meaning |", "|---|---|"] + rows + end).joined(separator: "\n")
    #expect(try Self.article("Protocol").joined(separator: "\n").contains(table), "the table is:\n\(table)")
  }

  /// The fields of an object as a table has them: with their values, and with `?` after the names of those that may be
  /// absent.
  private static func fields(of object: OrderedJSON, _ schemas: OrderedJSON?, withValues: Bool = true) -> [String] {
    let required = object["required"]?.items ?? []
    return (object["properties"]?.members ?? []).map { field in
      let name = "`\(field.name)\(required.contains(.string(field.name)) ? "" : "?")`"
      return withValues ? values(of: field.value, schemas).map { "\(name) (\($0))" } ?? name : name
    }
  }

  /// The values of a choice, or the bounds of a number or a list.
  private static func values(of schema: OrderedJSON, _ schemas: OrderedJSON?) -> String? {
    let schema = schema["anyOf"]?.items.first ?? schema
    let choice = (schema.referenced.flatMap { schemas?[$0] } ?? schema)["enum"]?.items.compactMap(\.text) ?? []
    if !choice.isEmpty { return choice.map { "`\($0)`" }.joined(separator: ", ") }
    if let max = schema["maxItems"]?.number { return "at most \(max)" }
    guard schema["maximum"] != .integer(maxInteger), let min = schema["minimum"]?.number,
      let max = schema["maximum"]?.number
    else { return nil }
    return "\(min) to \(max)" + (schema["default"]?.number.map { ", default \($0)" } ?? "")
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

  @Test func `the table of the HTTP API has every resource and method, and the parameters of its queries`() throws {
    let routes = Dictionary(uniqueKeysWithValues: HTTPService.routes.map { ($0.path.description, $0.actions) })
    var named: [String: Set<String>] = [:]
    for row in try Self.rows(of: "Protocol", columns: 2) {
      let words = row[0].split { " ,`".contains($0) }.map(String.init)
      let methods = words.filter { $0.allSatisfy(\.isUppercase) }
      guard !methods.isEmpty else { continue }
      var path = ""
      var declarations: [Declaration] = []
      for word in words where !methods.contains(word) {
        // `…/filter` is the previous path with another last part.
        path =
          word.hasPrefix("…/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + word.dropFirst()) : word
        named[path, default: []].formUnion(methods)
        for action in routes[path] ?? [] where methods.contains(action.method) {
          if case .command(let command) = action.work { declarations.append(command.declaration) }
        }
      }
      let parameters = Set(row[1].matches(of: /\?(\w+)=/).map { String($0.1) })
      guard !declarations.isEmpty else { continue }
      let declared = Set(declarations.flatMap(\.query.keys))
      #expect(parameters == declared, "\(row[0]) needs \(declared.sorted().map { "`?\($0)=`" })")
    }
    for route in HTTPService.routes {
      let missing = Set(route.actions.map(\.method)).subtracting(named[route.path.description, default: []])
      #expect(missing.isEmpty, "\(missing.sorted()) \(route.path)")
    }
  }
}

extension OrderedJSON {
  /// A whole number, with commas between thousands.
  fileprivate var number: String? {
    guard case .scalar(.number(let spelling)) = self, let number = Int(spelling) else { return nil }
    return number.formatted(.number.locale(Locale(identifier: "en_US")))
  }
}
