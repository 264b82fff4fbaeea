// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import docs

@Suite struct JSONReaderTests {
  @Test(arguments: [
    #"{"b": 1, "a": [true, false, null], "c": {"é": "\u00e9\n\"/"}}"#, "[]", "{}", "-1.50e+3", #""""#,
  ])
  func `what is read is printed in the same order and digits`(json: String) throws {
    let value = try JSONReader.value(of: json, file: "a.json")
    #expect(value.printed() == json.replacing(#"\u00e9"#, with: "é"))
  }

  @Test func `what is too wide is broken where it must be`() throws {
    let value = try JSONReader.value(of: #"{"name":[1,2,3],"text":"abcdefghijkl"}"#, file: "a.json")
    #expect(value.printed(width: 24) == "{\n  \"name\": [1, 2, 3],\n  \"text\": \"abcdefghijkl\"\n}")
  }

  @Test(arguments: [
    ("{\n\"a\" 1}", "a.json:2: error: a colon is missing"),
    ("{\n\n\"a\": 1 \"b\"}", "a.json:3: error: a comma or the end is missing"),
    ("[1,]", "a.json:1: error: “” is no value"),
    ("[01]", "a.json:1: error: “01” is no value"),
    ("{a: 1}", "a.json:1: error: a name in quotation marks is missing"),
    (#"{"a": 1, "a": 2}"#, "a.json:1: error: “a” is given twice"),
    ("[\n\"a", "a.json:2: error: a text does not end"),
    (#""\q""#, "a.json:1: error: this text is not JSON"),
    ("1\n2", "a.json:2: error: something is behind the end"),
    (String(repeating: "[", count: 65), "a.json:1: error: is nested too deeply"),
  ])
  func `a fault has its line`(json: String, words: String) {
    let faults = #expect(throws: Faults.self) { try JSONReader.value(of: json, file: "a.json") }
    #expect(faults?.all.map(\.description) == [words])
  }

  @Test func `what is nested as deep as may be is read`() throws {
    let json = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    #expect(try JSONReader.value(of: json, file: "a.json").printed(width: 200) == json)
  }
}
