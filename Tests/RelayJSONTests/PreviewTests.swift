// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import Testing

/// The beginnings of the texts of messages, as lists and quotes show them.
@Suite struct PreviewTests {
  @Test(
    arguments: [
      (#""Kettle is on""#, "Kettle is on"), (#"{"text":"Tea"}"#, "Tea"), (#"{"text":1}"#, nil), ("1", nil), ("", nil),
      (#"{"text":""}"#, ""),
      ("\"" + String(repeating: "é", count: 160) + "\"", String(repeating: "é", count: 160)),
      ("\"" + String(repeating: "é", count: 161) + "\"", String(repeating: "é", count: 159) + "…"),
    ] as [(String, String?)])
  func `a preview is the beginning of the text`(_ body: String, _ preview: String?) {
    #expect(JSON.preview(ofBody: Array(body.utf8)) == preview)
  }

  /// A character with this many bytes: a letter with accents.
  private static func character(bytes: Int) -> String { "e" + String(repeating: "\u{301}", count: (bytes - 1) / 2) }

  @Test(arguments: [
    // The size of a character, the number of characters, and the number in the preview.
    (7, 146, 146), (7, 147, 145), (9, 160, 113), (1_023, 1, 1), (1_025, 1, 0), (65_535, 3, 0),
  ])
  func `a preview has a maximum size`(_ bytes: Int, _ count: Int, _ expected: Int) {
    let character = Self.character(bytes: bytes)
    let preview = JSON.preview(ofText: String(repeating: character, count: count))
    #expect(preview == String(repeating: character, count: expected) + (expected == count ? "" : "…"))
    #expect(preview.utf8.count <= JSON.maxPreviewBytes)
  }

  @Test func `the text of a value is that of its bytes`() {
    let values: [(JSON, String?)] = [
      (.string("Tea"), "Tea"), (.object(["text": .string("Tea")]), "Tea"), (.object([:]), nil), (.null, nil),
    ]
    for (value, text) in values { #expect(value.shownText == text) }
  }
}
