// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import docs

@Suite struct SchemaTests {
  private func schema(_ json: String) throws -> Schema {
    Schema(json: try JSONReader.value(of: json, file: "a.json"), page: "objects", place: Place(file: "a.json"))
  }

  @Test(arguments: [
    (##"{"$ref":"#/components/schemas/RoomName","description":"Whose."}"##, "RoomName"),
    (#"{"type":"boolean"}"#, "boolean"),
    (#"{"type":["string","null"]}"#, "string or null"),
    (#"{"type":"string","minLength":1,"maxLength":128}"#, "string, 1 to 128 characters"),
    (#"{"type":"string","minLength":1}"#, "string, not empty"),
    (#"{"type":"string","maxLength":2048}"#, "string, at most 2048 characters"),
    (#"{"type":"string","pattern":"^a+$","not":{"enum":[".",".."]}}"#, "string, of the form ^a+$, but not . or .."),
    (#"{"type":"integer","minimum":1,"maximum":300,"default":50}"#, "whole number, 1 to 300; default 50"),
    (#"{"type":"integer","minimum":0,"maximum":9007199254740991}"#, "whole number, at least 0"),
    (#"{"type":"number","minimum":1,"maximum":2419200}"#, "number, 1 to 2,419,200"),
    (#"{"enum":["message","call",null]}"#, "message, call or null"),
    (#"{"const":true}"#, "true"),
    (#"{"type":["string","null"],"maxLength":9}"#, "string, at most 9 characters; or null"),
    (
      #"{"anyOf":[{"type":"integer","minimum":1},{"type":"boolean"},{"type":"null"}]}"#,
      "whole number, at least 1; boolean; or null"
    ),
    (#"{"anyOf":[{"type":"boolean"},{"$ref":"x/Push"},{"type":"null"}]}"#, "boolean, Push or null"),
    (#"{"oneOf":[{"type":"object"},{"type":"object","properties":{}}]}"#, "object"),
    (#"{"allOf":[{"$ref":"x/QuietHours"},{"required":["days"]}]}"#, "QuietHours"),
    (
      #"{"type":"array","items":{"type":"string"},"maxItems":256,"uniqueItems":true}"#,
      "list of string, at most 256, each once"
    ),
    (#"{"type":"array"}"#, "list"),
    (#"{"type":"object","maxProperties":64,"additionalProperties":{"type":"string"}}"#, "object of string, at most 64"),
    (#"{"description":"Any JSON."}"#, "any"),
  ])
  func `a type is told with its bounds`(json: String, words: String) throws {
    #expect(try schema(json).words().plain == words)
  }

  @Test func `a schema of its own is linked`() throws {
    let words = try schema(##"{"$ref":"#/components/schemas/RoomName"}"##).words()
    let link = Link(destination: .page("objects", anchor: "RoomName"), place: Place(file: "a.json"))
    #expect(words == [.link(link, [.code("RoomName")])])
  }

  @Test func `fields are told with those inside them`() throws {
    let fields = try schema(
      """
      {"type": "object", "required": ["sound"], "properties": {
        "sound": {"type": "object", "description": "What it plays.", "required": ["name"], "properties": {
          "name": {"type": "string"}, "volume": {"type": "number"}}},
        "paused": {"type": "array", "items": {"type": "object", "properties": {"app": {"type": "string"}}}},
        "outcome": {"oneOf": [
          {"type": "object", "description": "No push.", "properties": {"kind": {"const": "none"}}},
          {"type": "object", "properties": {"kind": {"const": "push"}}}]}}}
      """
    ).fields()
    #expect(
      fields.map(\.name) == [
        "sound", "sound.name", "sound.volume", "paused", "paused[].app", "outcome", "outcome.kind", "outcome.kind",
      ])
    #expect(fields.filter(\.isRequired).map(\.name) == ["sound", "sound.name"])
    #expect(fields.map(\.description) == ["What it plays.", "", "", "", "", "", "No push.", ""])
    #expect(fields.last?.type == [.code("push")])
  }

  @Test func `a keyword without words is refused`() throws {
    let schema = try schema(#"{"type":"string","format":"uuid"}"#)
    let faults = #expect(throws: Faults.self) { try schema.words() }
    #expect(faults?.all.map(\.words) == ["the keyword “format” of a schema has no words on the site yet"])
  }
}
