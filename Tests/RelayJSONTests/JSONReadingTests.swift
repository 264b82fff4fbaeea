// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@Suite struct JSONReadingTests {
  @Test func `the parser reads every type of value`() {
    let text = #" {"a":[1,-0.5e+3,true,false,null,""],"b":{"c":"\"\\\/\b\f\n\r\té\ud83d\ude00"}} "#
    #expect(
      JSON(reading: text.utf8)
        == .object([
          "a": .array([.number("1"), .number("-0.5e+3"), .bool(true), .bool(false), .null, .string("")]),
          "b": .object(["c": .string("\"\\/\u{8}\u{c}\n\r\té😀")]),
        ]))
  }

  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":1,\"a\":2}", "01", "-", "1.", ".5", "1e",
    "+1", "0x1", "nul", "truth", "\"", "\"\\", "\"\\x\"", "\"\\u12g4\"", "\"\\ud83d\"", "\"\\ude00\"",
    "\"\\ud83d\\u0041\"", "\"a\nb\"", "'a'", "“a”", "1 2", "[1 2]", "{\"a\":}", "NaN",
  ])
  func `the parser rejects a text that is not JSON`(text: String) {
    #expect(JSON(reading: text.utf8) == nil)
  }

  @Test func `the parser rejects bytes that are not UTF-8`() {
    #expect(JSON(reading: [0x22, 0xC3, 0x22]) == nil)
    #expect(JSON(reading: [0x22, 0x5C, 0x6E, 0xFF, 0x22]) == nil)
  }

  @Test func `values may nest 32 levels deep`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(JSON(reading: nested(33).utf8) != nil)
    #expect(JSON(reading: nested(34).utf8) == nil)
    #expect(JSON(reading: nested(100_000).utf8) == nil)
  }
}
