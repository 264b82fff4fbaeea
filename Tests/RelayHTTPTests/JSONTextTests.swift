// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayHTTP

/// `JSONText`, which adds members to the source files of the documents.
struct JSONTextTests {
  private static let text = #"""
    {
      "a": { "b\\": "}\"{", "c": [1, { "d": 2 }], "e": -1.5e3 },
      "f": {
        "g": true
      },
      "h": null
    }
    """#

  @Test func `members are found by name, and their values may contain any JSON`() throws {
    let text = JSONText(Array(Self.text.utf8))
    func string(_ range: Range<Int>) -> String { String(decoding: text.bytes[range], as: UTF8.self) }
    #expect(text.members(of: text.root).map(\.name) == ["a", "f", "h"])
    let a = try #require(text.value("a"))
    #expect(text.members(of: a).map { string($0.value) } == [#""}\"{""#, #"[1, { "d": 2 }]"#, "-1.5e3"])
    #expect(text.value("f", "g").map(string) == "true")
    #expect(text.value("f", "x") == nil)
    #expect(text.value("x", "g") == nil)
  }

  @Test func `an added member has its own line, and the other lines do not change`() throws {
    var text = JSONText(Array(Self.text.utf8))
    let f = try #require(text.value("f"))
    text.add([("x", Array("1".utf8)), ("y", Array("{}".utf8))], to: f)
    text.add([("z", Array("2".utf8))], to: text.root)
    text.finish()
    let expected = Self.text
      .replacing("true\n", with: "true,\n    \"x\": 1,\n    \"y\": {}\n")
      .replacing("null\n", with: "null,\n  \"z\": 2\n")
    #expect(String(decoding: text.bytes, as: UTF8.self) == expected)
  }
}
