// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

/// The mentions of a message, and their form in the store.
@Suite struct MentionsTests {
  private static let ann = UserID(unchecked: "ann")
  private static let bob = UserID(unchecked: "bob")
  private static let cem = UserID(unchecked: "cem")

  private static let forms: [(Mentions, String)] = [
    ([], "[]"),
    ([ann, bob], #"["ann","bob"]"#),
    (Mentions(all: true), #"["*"]"#),
    (Mentions([bob], all: true, online: true, present: [ann, cem]), #"["*","*online","bob",[[],["ann","cem"]]]"#),
    (Mentions(answered: cem), #"[[["cem"],[]]]"#),
  ]

  @Test(arguments: forms.indices)
  func `the store has all names as JSON texts`(index: Int) throws {
    let (mentions, text) = Self.forms[index]
    #expect(String(decoding: try JSONEncoder().encode(mentions), as: UTF8.self) == text)
    #expect(try JSONDecoder().decode(Mentions.self, from: Data(text.utf8)) == mentions)
  }

  @Test(arguments: [#"["**"]"#, "[1]", #"["no name"]"#, "{}", #"[["ann"]]"#])
  func `other JSON is refused`(text: String) {
    #expect(throws: (any Error).self) { try JSONDecoder().decode(Mentions.self, from: Data(text.utf8)) }
  }

  @Test func `no user can have a reserved word as a name`() {
    #expect(UserID(rawValue: Mentions.allWord) == nil)
    #expect(UserID(rawValue: Mentions.onlineWord) == nil)
  }

  @Test func `clients see words and names, and no implied users`() {
    var mentions = Mentions(present: [Self.cem], answered: Self.bob)
    #expect(mentions.words.isEmpty && !mentions.isEmpty)
    for word in ["ann", "*online", "ann", "*"] {
      let isAdded = mentions.add(word)
      #expect(isAdded)
    }
    #expect(mentions.words == ["*", "*online", "ann"])
    #expect(mentions.named == [Self.ann, Self.bob])
    for word in ["me", "**"] {
      let isAdded = mentions.add(word)
      #expect(!isAdded)
    }
  }
}
