// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayCommands

/// The fields of a request that sets a status.
@Suite struct StatusFieldsTests {
  private func status(_ fields: [String: JSON]) throws -> UserStatus? { try UserStatus(Fields(fields)) }

  @Test(
    arguments: [
      ([:], nil), (["text": .string("")], nil), (["text": .null, "emoji": .null, "until": .null], nil),
      (["text": .string("Lunch")], UserStatus(text: "Lunch")),
      (["text": .string(""), "emoji": .string("🌴")], UserStatus(emoji: "🌴")),
      (["emoji": .string("🌴"), "until": .number("5")], UserStatus(emoji: "🌴", until: Timestamp(rawValue: 5))),
    ] as [([String: JSON], UserStatus?)])
  func `a status has a text or an emoji`(_ fields: [String: JSON], _ expected: UserStatus?) throws {
    #expect(try status(fields) == expected)
  }

  @Test(arguments: [
    ("text", "x", 100, "must be at most 100 characters long"), ("text", "🌴", 80, "must be at most 320 bytes long"),
    ("emoji", "x", 32, "must be at most 32 characters long"), ("emoji", "🌴", 16, "must be at most 64 bytes long"),
  ])
  func `each text has a bound in characters and in bytes`(
    _ key: String, _ part: String, _ max: Int, _ words: String
  ) throws {
    #expect(try status([key: .string(String(repeating: part, count: max))]) != nil)
    #expect {
      _ = try status([key: .string(String(repeating: part, count: max + 1))])
    } throws: {
      guard let error = $0 as? RequestError else { return false }
      return error.at == "/\(key)" && error.message.contains(words)
    }
  }

  @Test func `an end belongs to a status`() {
    #expect { _ = try status(["until": .number("5")]) } throws: { ($0 as? RequestError)?.at == "/until" }
  }

  @Test func `an emoji may have joiners and variations`() throws {
    for emoji in ["👩‍👩‍👧‍👦", "❤️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", ":custom:"] {
      #expect(try status(["emoji": .string(emoji)])?.emoji == emoji)
    }
  }
}
