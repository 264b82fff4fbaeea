// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import Testing

/// The most frequent mistakes, with their complete reports.
@Suite struct LintGoldenTests {
  private func lines(_ text: String) -> String {
    PushLint.check(Array(text.utf8)).findings.map { $0.line(file: "push.json") }.joined(separator: "\n")
  }

  private func mended(_ text: String) -> String? {
    PushLint.check(Array(text.utf8), isLenient: true).payload.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `typographic quotation marks are reported and corrected`() {
    let text = """
      {
        “aps”: {
          "alert": “Hi”,
          "sound": "default”
        }
      }
      """
    #expect(
      lines(text) == """
        push.json:2:3: error: the text is between U+201C LEFT DOUBLE QUOTATION MARK and U+201D RIGHT DOUBLE QUOTATION \
        MARK, which JSON does not have; write it between " and " [typographic-quote]
        push.json:3:14: error: the text is between U+201C LEFT DOUBLE QUOTATION MARK and U+201D RIGHT DOUBLE QUOTATION \
        MARK, which JSON does not have; write it between " and " [typographic-quote]
        push.json:4:22: error: the text is closed by U+201D RIGHT DOUBLE QUOTATION MARK, which is not a quotation mark in \
        JSON; write " [typographic-quote]
        """)
    #expect(mended(text) == #"{"aps":{"alert":"Hi","sound":"default"}}"#)
  }

  @Test func `missing commas are reported and corrected`() {
    let text = """
      {
        "aps": {
          "alert": {
            "title": "Ann"
            "body": "Lunch?"
          }
          "sound": "a"
        }
        "room": "tea"
      }
      """
    #expect(
      lines(text) == """
        push.json:4:21: error: a comma is missing here; write a comma [missing-comma]
        push.json:6:6: error: a comma is missing here; write a comma [missing-comma]
        push.json:8:4: error: a comma is missing here; write a comma [missing-comma]
        """)
    #expect(mended(text) == #"{"aps":{"alert":{"title":"Ann","body":"Lunch?"},"sound":"a"},"room":"tea"}"#)
  }

  @Test func `a flag in quotation marks is reported and corrected`() {
    let text = #"{"aps":{"alert":"Lunch?","mutable-content":"1","sound":"a"}}"#
    #expect(
      lines(text) == """
        push.json:1:44: error: mutable-content is the text "1", and must be the number 1; write 1, without quotation \
        marks [flag-not-number]
        """)
    #expect(mended(text) == #"{"aps":{"alert":"Lunch?","mutable-content":1,"sound":"a"}}"#)
  }

  @Test func `a key beside aps is reported and moved`() {
    let text = #"{"aps":{"sound":"a"},"thread-id":"tea"}"#
    #expect(
      lines(text) == """
        push.json:1:22: error: thread-id is beside aps, where iOS does not read it; move it into aps \
        [aps-key-outside]
        """)
    #expect(mended(text) == #"{"aps":{"sound":"a","thread-id":"tea"}}"#)
  }

  @Test func `a report is written as JSON`() {
    let report = PushLint.check(
      Array(#"{"aps":{"sound":"Hi","badge":"1"}}"#.utf8),
      headers: [("APNs-Push-Type", "alert"), ("apns-topic", "org.example.chat"), ("apns-priority", "7")],
      isLenient: true)
    #expect(
      String(decoding: report.json, as: UTF8.self)
        == #"""
        {"findings":[{"rule":"number-as-text","severity":"warning","at":"/aps/badge","line":1,"column":30,
        "words":"badge is the text \"1\", and must be a number","mend":"leave out the quotation marks","replacement":"1"},
        {"rule":"priority-value","severity":"error","header":"apns-priority","words":"\"7\" is not a priority",
        "mend":"write 10, 5 or 1"}],"payload":"{\"aps\":{\"sound\":\"Hi\",\"badge\":1}}"}
        """#.replacing("\n", with: ""))
  }
}
