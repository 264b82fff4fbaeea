// SPDX-License-Identifier: Apache-2.0
import PushLint
import Testing

@Suite struct LintLocationTests {
  private func locations(_ text: String, isLenient: Bool = false) -> [Finding.Location] {
    PushLint.check(Array(text.utf8), isLenient: isLenient).findings.map(\.location)
  }

  @Test func `columns count Unicode scalars, and an invalid byte as one`() {
    #expect(
      locations(#"{"own":"🇫🇷é","aps":{"badge":-1}}"#) == [.payload(pointer: "/aps/badge", line: 1, column: 29)])
    let bytes = Array(#"{"own":""#.utf8) + [0xE2, 0x80, 0xFF] + Array(#"","aps":{"badge":-1}}"#.utf8)
    #expect(
      PushLint.check(bytes).findings.map(\.location) == [
        .payload(pointer: "/own", line: 1, column: 9), .payload(pointer: "/own", line: 1, column: 10),
        .payload(pointer: "/own", line: 1, column: 11), .payload(pointer: "/aps/badge", line: 1, column: 29),
      ])
  }

  @Test(arguments: ["\n", "\r\n", "\r"]) func `a line ends with LF, CR LF or CR`(end: String) {
    let text = ["{", #""aps":{"#, #""badge":-1"#, "}", "}"].joined(separator: end)
    #expect(locations(text) == [.payload(pointer: "/aps/badge", line: 3, column: 9)])
  }

  @Test func `a pointer is escaped, and has numbers for items of arrays`() {
    #expect(
      locations(#"{"aps":{"badge":1},"a/b~c":[0,{"x":[True]}]}"#) == [
        .payload(pointer: "/a~1b~0c/1/x/0", line: 1, column: 37)
      ])
  }

  @Test func `a moved key is reported at its original position`() {
    let text = #"{"aps":{"sound":"Hi"},"badge":"-1"}"#
    let rules = PushLint.check(Array(text.utf8)).findings.map(\.rule)
    #expect(rules == [.apsKeyOutside, .numberAsText, .badgeRange])
    #expect(
      locations(text) == [
        .payload(pointer: "/badge", line: 1, column: 23), .payload(pointer: "/badge", line: 1, column: 31),
        .payload(pointer: "/badge", line: 1, column: 31),
      ])
    #expect(locations(text, isLenient: true) == locations(text))
  }

  @Test func `several mistakes in a text are several findings`() {
    let text = """
      {
        // what people write
        'aps': {
          alert: {"title": “Hi”, "body": "a" "b": 1,},
          "badge": +1
          "sound": Default
        },
      }
      """
    #expect(
      PushLint.check(Array(text.utf8)).findings.map(\.rule) == [
        .comment, .singleQuote, .unquotedKey, .typographicQuote, .missingComma, .unknownAlertKey, .trailingComma,
        .numberPlusSign, .missingComma, .unquotedText, .trailingComma,
      ])
  }

  @Test func `quotations from a payload are clipped`() {
    let key = String(repeating: "k", count: 5_000)
    let report = PushLint.check(Array(#"{"aps":{"sound":"Hi","\#(key)":1}}"#.utf8))
    #expect(report.findings.count == 2)
    #expect(report.json.count < 1_000)
  }
}
