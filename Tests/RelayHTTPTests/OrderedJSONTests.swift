// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import Testing

/// `OrderedJSON`, of which the documents are made.
struct OrderedJSONTests {
  private static let text = #"""
    {
      "z": { "b\\": "}\"{", "c": [1, { "d": 2 }], "e": -1.5e3 },
      "f": {
        "long": "\#(String(repeating: "x", count: 60))",
        "list": ["\#(String(repeating: "y", count: 60))", true, {}]
      },
      "a": null
    }

    """#

  private let document: OrderedJSON

  init() throws { document = try JSONParser(maxDepth: 4).document(Array(Self.text.utf8)) }

  @Test func `a document is written as it was read`() { #expect(document.lines == Self.text) }

  @Test func `members are found by name, and their values may contain any JSON`() {
    #expect(document.members.map(\.name) == ["z", "f", "a"])
    #expect(document["z"]?["b\\"] == "}\"{")
    #expect(document["z"]?["c"] == [.integer(1), ["d": .integer(2)]])
    #expect(document["f"]?["x"] == nil && document["x"]?["z"] == nil && document["a"]?["z"] == nil)
  }

  @Test func `a changed member keeps its place, and a new one is the last`() {
    var changed = document["z"]
    changed?["c"] = "new"
    changed?["b\\"] = nil
    changed?["x"] = nil
    #expect(changed?.merging(["e": [], "g": [:]]) == ["c": "new", "e": [], "g": [:]])
  }
}
