// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayProtocol

/// The names of a page.
@Suite struct NameRangeTests {
  /// All names of these tests, in the order of their bytes.
  private static let names = ["!", "-", "0", "A", "a", "a!", "a~", "ab", "ab.c", "b", "~", "~~"]

  @Test(
    arguments: [
      (nil, nil, "! - 0 A a a! a~ ab ab.c b ~ ~~"), ("a", nil, "a a! a~ ab ab.c"), ("ab", nil, "ab ab.c"),
      ("z", nil, ""), ("~", nil, "~ ~~"), (nil, "a", "a! a~ ab ab.c b ~ ~~"), (nil, "~~", ""),
      (nil, "B", "a a! a~ ab ab.c b ~ ~~"),
      ("a", "a!", "ab ab.c a~"), ("a", "b", ""), ("a", "A", "a a! a~ ab ab.c"),
    ] as [(String?, String?, String)])
  func `a range has the names with the prefix behind the last name`(prefix: String?, after: String?, names: String) {
    let range = NameRange(prefix: prefix, after: after)
    #expect(Set(Self.names.filter(range.contains)) == Set(names.split(separator: " ").map(String.init)))
  }

  @Test func `a part of a range is in both`() {
    let range = NameRange(prefix: "a", after: "ab")
    #expect(range.limited(from: "", to: "~~")?.contains("ac") == true)
    #expect(range.limited(from: "ad", to: "~~")?.contains("ac") == false)
    #expect(range.limited(from: "", to: "ac")?.contains("ac") == false)
    #expect(range.limited(from: "b", to: "c") == nil)
    #expect(range.limited(from: "", to: "a") == nil)
  }

  @Test(arguments: [
    (".", true), ("..", true), ("a b", false), ("", false), ("/", false), ("#", false), ("ä", false), ("A~|", true),
    (String(repeating: "x", count: 255), true), (String(repeating: "x", count: 256), false),
  ])
  func `a prefix has the characters of names`(text: String, isPrefix: Bool) {
    #expect(NameRange.isPrefix(text) == isPrefix)
  }
}
