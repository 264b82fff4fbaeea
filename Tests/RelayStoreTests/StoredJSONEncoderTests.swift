// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// The texts of Foundation's encoder with sorted keys are the right ones.
@Suite struct StoredJSONEncoderTests {
  private func expectEqual<Value: Codable & Equatable>(_ value: Value) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = StoredJSON.text(of: value)
    #expect(try text == String(decoding: encoder.encode(value), as: UTF8.self))
    #expect(try JSONDecoder().decode(Value.self, from: Data(text.utf8)) == value)
  }

  private struct Leaf: Codable, Equatable {
    var zeta: Int? = nil
    var alpha = "a"
    var flag = true
  }

  private struct Tree: Codable, Equatable {
    var name: String
    var child: [Tree] = []
    var leaf = Leaf()
    var table: [String: [Int]] = [:]
    var numbers: [Int64] = [.min, -1, 0, 7, .max]
    var small: [UInt8] = [0, 255]
    var nothing: [String?] = [nil, "x", nil]
    var empty: [String: String] = [:]
  }

  /// Takes nested containers, and its object twice.
  private struct Nesting: Codable, Equatable {
    private enum Key: String, CodingKey { case outer, list, last }

    init() {}
    init(from decoder: any Decoder) throws {}

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Key.self)
      try object.encode("z", forKey: .outer)
      var list = object.nestedUnkeyedContainer(forKey: .list)
      try list.encode(1)
      var inner = list.nestedContainer(keyedBy: Key.self)
      try inner.encode(2, forKey: .outer)
      try inner.encodeNil(forKey: .last)
      var innermost = list.nestedUnkeyedContainer()
      try innermost.encodeNil()
      try list.encode(3)
      var again = encoder.container(keyedBy: Key.self)
      var member = again.nestedContainer(keyedBy: Key.self, forKey: .last)
      try member.encode([Leaf()], forKey: .list)
    }
  }

  @Test func `values of all shapes`() throws {
    try expectEqual(
      Tree(name: "root", child: [Tree(name: "b", table: ["z": [1], "a": [], "m": [2, 3]]), Tree(name: "")]))
    try expectEqual(Nesting())
    try expectEqual([Leaf]())
    try expectEqual([Leaf(zeta: 1), Leaf(flag: false)])
    try expectEqual(["only": 1.5, "whole": -2.25])
    try expectEqual("text")
    try expectEqual(Int64.min)
  }

  @Test func `all characters`() throws {
    for value in (0..<0x180) + [0x2028, 0x2029, 0xFFFD, 0x1F600, 0x10FFFF] {
      let character = String(try #require(Unicode.Scalar(UInt32(value))))
      try expectEqual(["\(character)/": "a\(character)\"\\b"])
    }
  }

  @Test func `values that the store keeps`() throws {
    try expectEqual(job().explanation)
    try expectEqual(held().explanation)
    var preferences = Preferences()
    for room in ["tea", "den", "a:b"] { preferences[RoomID(unchecked: room)] = RoomPreference(level: .none) }
    try expectEqual(preferences)
    try expectEqual([PushAttempt(time: .at(1), status: 500), PushAttempt(time: .at(2), reason: "x")])
  }

  private func held() -> PlannedPush {
    var push = job(due: .at(9_000))
    push.isHeld = true
    push.explanation.facts.message.criteria = "work"
    push.explanation.facts.released = .at(3)
    return push
  }
}
