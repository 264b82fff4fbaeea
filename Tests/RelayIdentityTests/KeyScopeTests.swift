// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayIdentity

/// The scopes of API keys: parsing, rights, and their names in the file of keys.
@Suite final class KeyScopeTests {
  private let path = NSTemporaryDirectory() + "stillwire-scopes-\(UInt64.random(in: 0...UInt64.max))"
  private let hash = String(repeating: "0", count: 64)

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private static func scopes(_ list: [[String: JSON]]) throws(RequestError) -> KeyScopes {
    let fields = list.enumerated().map { Fields($1, at: "/apiKeyScopes/\($0)") }
    return try KeyScopes(
      fields, operations: ["sendMessage", "listMessages"], groups: ["read": ["listMessages"]])
  }

  private static func texts(_ texts: String...) -> JSON { .array(texts.map(JSON.string)) }

  @Test func `a scope limits operations, rooms and users by patterns`() throws {
    let scopes = try Self.scopes([
      [
        "scope": .string("support"), "operations": Self.texts("sendMessage", "read"),
        "rooms": Self.texts("support.*", "tea"), "users": Self.texts("bot-*"),
      ]
    ])
    let rights = try #require(scopes["support"]?.rights)
    #expect(rights.operations == ["sendMessage", "listMessages"])
    #expect(rights.include(room: "tea") && rights.include(room: "support.7"))
    #expect(!rights.include(room: "team") && !rights.include(room: "x.support.7"))
    #expect(rights.include(user: "bot-1") && !rights.include(user: "ann"))
    #expect(!rights.hasAllRooms && !rights.hasAllUsers)
  }

  @Test func `an absent member allows all`() throws {
    let scope = try #require(try Self.scopes([["scope": .string("a")]])["a"])
    #expect(scope.rights.include(operation: "anything"))
    #expect(scope.rights.include(room: "any") && scope.rights.include(user: "any"))
    #expect(scope.rights.hasAllRooms && scope.rights.hasAllUsers)
    #expect(scope.rate == nil)
  }

  @Test func `the default burst is the number of requests of a second`() throws {
    func rate(_ rate: String, _ burst: String? = nil) throws -> KeyRate? {
      var scope: [String: JSON] = ["scope": .string("a"), "rate": .number(rate)]
      if let burst { scope["burst"] = .number(burst) }
      return try Self.scopes([scope])["a"]?.rate
    }
    #expect(try rate("2.5") == KeyRate(perSecond: 2.5, burst: 3))
    #expect(try rate("0.01") == KeyRate(perSecond: 0.01, burst: 1))
    #expect(try rate("100000", "1000000") == KeyRate(perSecond: 100_000, burst: 1_000_000))
  }

  private static let wrong: [(members: [String: JSON], key: String)] = [
    ([:], "scope"), (["scope": .string("a b")], "scope"), (["scope": .string("")], "scope"),
    (["scope": .string("a"), "operations": .array([])], "operations"),
    (["scope": .string("a"), "operations": texts("read", "sendMesage")], "operations/1"),
    (["scope": .string("a"), "rooms": .array([])], "rooms"),
    (["scope": .string("a"), "rooms": texts("a", "b/c")], "rooms/1"),
    (["scope": .string("a"), "users": texts("ü")], "users/0"),
    (["scope": .string("a"), "users": .array(Array(repeating: .string("a"), count: 1_001))], "users"),
    (["scope": .string("a"), "rate": .number("0")], "rate"),
    (["scope": .string("a"), "rate": .number("100001")], "rate"),
    (["scope": .string("a"), "rate": .number("1"), "burst": .number("0")], "burst"),
    (["scope": .string("a"), "rate": .number("1"), "burst": .number("1000001")], "burst"),
    (["scope": .string("a"), "burst": .number("1")], "burst"),
  ]

  @Test(arguments: wrong.indices)
  func `an error has the pointer of the wrong member`(index: Int) {
    let (members, key) = Self.wrong[index]
    let error = #expect(throws: RequestError.self) { try Self.scopes([members]) }
    #expect(error?.at == "/apiKeyScopes/0/\(key)")
  }

  @Test func `a misspelled operation gets a suggestion`() {
    let error = #expect(throws: RequestError.self) {
      try Self.scopes([["scope": .string("a"), "operations": Self.texts("sendMesage")]])
    }
    #expect(error?.message == "operations/0 is not an operation; did you mean sendMessage?")
  }

  @Test func `a name belongs to one scope, and the number of scopes is bounded`() throws {
    let twice = #expect(throws: RequestError.self) {
      try Self.scopes([["scope": .string("a")], ["scope": .string("a")]])
    }
    #expect(twice?.at == "/apiKeyScopes/1/scope")
    let many = (0...KeyScopes.maxCount).map { ["scope": JSON.string("s\($0)")] }
    _ = try Self.scopes(many.dropLast())
    #expect(throws: RequestError.self) { try Self.scopes(many) }
  }

  // MARK: The file

  private func read(_ text: String, _ scopes: KeyScopes) throws -> APIKeys {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    var settings = IdentitySettings()
    settings.apiKeysFile = path
    settings.scopes = scopes
    return try settings.readAPIKeys()
  }

  @Test func `a key has the scope of its line, and other keys have all rights`() throws {
    let scopes = try Self.scopes([["scope": .string("support"), "users": Self.texts("bot-*")]])
    let bot = try APIKeys.add("bot", scope: "support", to: path)
    let shop = try APIKeys.add("shop", to: path)
    let keys = try read(String(contentsOfFile: path, encoding: .utf8), scopes)
    #expect(keys.key(bot)?.scope == scopes["support"])
    #expect(keys.key(shop)?.name == "shop" && keys.key(shop)?.scope == nil)
    #expect(keys.names == ["bot", "shop"])
  }

  @Test func `an unknown scope is an error with its line`() throws {
    let error = #expect(throws: StartupError.self) { try read("a \(hash)\n# b\nb \(hash) none\n", KeyScopes()) }
    #expect(error?.description == "line 3 of \(path): apiKeyScopes has no scope none")
  }

  @Test func `scopes without a file of keys are an error`() throws {
    var settings = IdentitySettings()
    settings.scopes = try Self.scopes([["scope": .string("a")]])
    #expect(throws: StartupError.self) { try settings.readAPIKeys() }
  }

  @Test func `a key keeps its rights unless it or its scope changes`() throws {
    func keys(_ line: String, _ users: String, rate: String = "1") throws -> APIKeys {
      try read(
        line, Self.scopes([["scope": .string("s"), "users": Self.texts(users), "rate": .number(rate)]]))
    }
    let first = try APIKeys.add("a", scope: "s", to: path)
    let line = try String(contentsOfFile: path, encoding: .utf8)
    let key = try #require(try keys(line, "x").key(first))
    #expect(try keys(line, "x").keeps(key))
    #expect(try keys(line, "x", rate: "2").keeps(key))
    #expect(try !keys(line, "y").keeps(key))
    #expect(try !keys("", "x").keeps(key))
    #expect(try !keys(String(line.dropLast(3)), "x").keeps(key))
    // Another key with the same name.
    #expect(try !keys("a \(hash) s\n", "x").keeps(key))
  }
}
