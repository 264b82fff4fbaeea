// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

/// Texts of one line in requests and in stored records.
@Suite struct LineFieldsTests {
  private static let members: [String: JSON] = [
    "good": .string("👩‍👩‍👧‍👦"), "bad": .string("a\nb"), "empty": .string(""), "blank": .string(" "),
    "nothing": .string("\u{202E}"),
    "null": .null, "number": .number("1"), "list": .array([.string("a"), .string("\u{2028}")]),
    "object": .object(["bad": .string("\u{2066}c")]),
  ]
  private let request = Fields(members)
  private let record = Fields(stored: members)

  @Test(arguments: ["bad", "nothing"])
  func `a request with a text of several lines is an error`(key: String) {
    let error = #expect(throws: RequestError.self) { try request.line(key, maxLength: 9) }
    #expect(error?.at == "/\(key)" && error?.message == "\(key) \(String.mustBeLine)")
    #expect(throws: RequestError.self) { try request.shownLine(key, maxLength: 9) }
  }

  @Test func `each text of a list and of an object is checked`() throws {
    let list = #expect(throws: RequestError.self) { try request.lines("list", max: 9, maxLength: 9) }
    #expect(list?.at == "/list/1")
    let object = #expect(throws: RequestError.self) { try request.object("object")?.line("bad", maxLength: 9) }
    #expect(object?.at == "/object/bad")
  }

  @Test func `a stored text loses the characters that no line has`() throws {
    #expect(try record.line("bad", maxLength: 9) == "a b")
    #expect(try record.line("nothing", maxLength: 9) == nil)
    #expect(try record.lines("list", max: 9, maxLength: 9) == ["a", ""])
    #expect(try record.object("object")?.line("bad", maxLength: 9) == "c")
    #expect(try record.shownLine("bad", maxLength: 9) == "a b")
    #expect(try record.shownLine("nothing", maxLength: 9) == "?")
  }

  @Test func `other texts are the same in requests and in stored records`() throws {
    for fields in [request, record] {
      #expect(try fields.line("good", maxLength: 25) == "👩‍👩‍👧‍👦")
      #expect(try fields.line("empty", maxLength: 9) == "")
      for key in ["null", "absent"] {
        #expect(try fields.line(key, maxLength: 9) == nil)
        #expect(try fields.shownLine(key, maxLength: 9) == nil)
        #expect(try fields.lines(key, max: 9, maxLength: 9) == nil)
      }
      #expect(throws: RequestError.self) { try fields.line("number", maxLength: 9) }
      #expect(throws: RequestError.self) { try fields.line("good", maxLength: 24) }
    }
    for key in ["empty", "blank"] {
      #expect(throws: RequestError.self) { try request.shownLine(key, maxLength: 9) }
    }
  }
}
