// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayPush

@Suite struct PushTextTableTests {
  @Test func `the table accepts at most 64 languages`() throws {
    let languages = (0...PushTextTable.maxLanguages).map { number in
      let letters = [number / 26, number % 26].map { String(UnicodeScalar(UInt8(97 + $0))) }.joined()
      return Fields(["language": .string("x\(letters)"), "newMessage": .string(letters)], at: "/texts")
    }
    let table = try PushTextTable(Array(languages.dropLast()))
    #expect(table.texts(for: "xaa") != PushTexts())
    #expect(table.texts(for: "xcl") != PushTexts())
    let error = #expect(throws: RequestError.self) { try PushTextTable(languages) }
    #expect(error?.at == "/texts")
  }
}
