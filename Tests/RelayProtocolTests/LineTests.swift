// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

/// The rule for texts of one line: names, titles, statuses, reactions, and the texts of buttons.
@Suite struct LineTests {
  /// Each character that no line has, with the text `a…b` as a line.
  private static let forbidden: [(range: ClosedRange<UInt32>, line: String)] = [
    (0x00...0x08, "ab"), (0x09...0x0D, "a b"), (0x0E...0x1F, "ab"), (0x7F...0x84, "ab"), (0x85...0x85, "a b"),
    (0x86...0x9F, "ab"), (0x2028...0x2029, "a b"), (0x202A...0x202E, "ab"), (0x2066...0x2069, "ab"),
  ]

  @Test(arguments: forbidden.indices)
  func `a line has no control characters, line breaks and bidirectional controls`(index: Int) throws {
    let (range, line) = Self.forbidden[index]
    for value in range {
      let text = "a\(Character(try #require(Unicode.Scalar(value))))b"
      #expect(!text.isLine, "U+\(String(value, radix: 16))")
      #expect(text.asLine == line, "U+\(String(value, radix: 16))")
    }
  }

  @Test func `a line may have all other characters`() throws {
    let values = [0...0xFFFF, 0x1F000...0x1FAFF, 0xE0000...0xE01EF] as [ClosedRange<UInt32>]
    for value in values.joined() {
      guard let scalar = Unicode.Scalar(value), !Self.forbidden.contains(where: { $0.range.contains(value) }) else {
        continue
      }
      let text = "a\(Character(scalar))b"
      guard !text.isLine || text.asLine != text else { continue }
      Issue.record("U+\(String(value, radix: 16))")
    }
  }

  @Test(arguments: [
    "", " ", "Ann", "Zoë", "👩‍👩‍👧‍👦", "❤️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "شركة\u{200F}", "\u{200E}a", "क्‍ष", "a\u{200B}b", "a\u{FEFF}b", "\u{FFFD}",
    "a\u{2027}b\u{202F}c\u{2065}d\u{206A}",
  ])
  func `emoji, marks of direction and joiners are allowed`(text: String) {
    #expect(text.isLine)
    #expect(text.asLine == text)
  }

  @Test(arguments: [
    ("Bank\nYour code is 1234", "Bank Your code is 1234"), ("a\r\n\t b", "a  b"), ("\n\u{202E}nimdA", "nimdA"),
    ("\u{2066}Ann\u{2069}", "Ann"), ("a\n", "a "), ("👍\u{202E}", "👍"), ("\u{202E}", nil), ("\n\n", nil),
    ("\u{0}", nil), (" \n", " "),
  ])
  func `a text as a line has the same words`(text: String, line: String?) {
    #expect(text.asLine == line)
    #expect(line?.isLine ?? true)
  }

  @Test(
    arguments: [
      (UserStatus(text: "a\u{202E}b", emoji: "🌴"), UserStatus(text: "ab", emoji: "🌴")),
      (
        UserStatus(text: "\u{202E}", emoji: "🌴", until: Timestamp(rawValue: 5)),
        UserStatus(emoji: "🌴", until: Timestamp(rawValue: 5))
      ),
      (UserStatus(text: "a", emoji: "\u{2066}"), UserStatus(text: "a")),
      (UserStatus(text: "\u{202E}", until: Timestamp(rawValue: 5)), nil),
    ] as [(UserStatus, UserStatus?)])
  func `a status as lines has a text or an emoji`(status: UserStatus, line: UserStatus?) {
    #expect(status.asLine == line)
  }
}
