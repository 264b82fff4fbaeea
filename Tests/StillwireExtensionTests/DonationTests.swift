// SPDX-License-Identifier: Apache-2.0
// Tests the values of donated interactions.
import Foundation
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct DonationTests {
  @Test func `the groups of different accounts and conversations differ`() {
    let groups: [(UserID?, String, String)] = [
      ("ann", "tea", "stillwire/ann/tea"), ("bob", "tea", "stillwire/bob/tea"), ("ann", "a|b", "stillwire/ann/a|b"),
      // A notification without a room.
      ("ann", "/from/bob", "stillwire/ann//from/bob"), (nil, "tea", "stillwire//tea"),
    ]
    for (account, conversation, identifier) in groups {
      #expect(DonationGroup(account: account, conversation: conversation).identifier == identifier)
    }
    #expect(Set(groups.map(\.2)).count == groups.count)
  }
}

@Suite struct PersonBookTests {
  private let book = PersonBook(folder: FileManager.default.temporaryDirectory.appending(path: "people-\(UUID())"))

  private func person(
    _ id: String, handle: String? = nil, type: String? = nil, avatar: String? = nil
  ) -> IntentPerson {
    IntentPerson(PayloadPerson(id: id, name: "\(id)'s name", handle: handle, handleType: type, avatar: avatar))
  }

  @Test func `the book returns the last entry of a person`() throws {
    defer { book.removeAll() }
    #expect(book.person("ann") == nil)
    let entries = [
      person("ann"), person("ann", handle: "+43 1 234", type: "phone"),
      person("ann", handle: "ann@example.org", type: "email", avatar: "https://a.example/1"),
      person("ann", handle: "@ann", type: "matrix"),
    ]
    for entry in entries {
      book.store(entry)
      #expect(book.person("ann") == entry)
    }
    book.store(person("bob"))
    #expect(book.person("ann") == entries.last && book.person("bob") == person("bob"))
    book.removeAll()
    #expect(book.person("ann") == nil && book.person("bob") == nil)
  }

  @Test func `an unchanged person is not written again`() throws {
    defer { book.removeAll() }
    book.store(person("ann", handle: "+43 1 234", type: "phone"))
    let file = try #require(
      FileManager.default.contentsOfDirectory(at: book.folder, includingPropertiesForKeys: nil).first)
    let old = Date(timeIntervalSince1970: 1_700_000_000)
    try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: file.path)
    book.store(person("ann", handle: "+43 1 234", type: "phone"))
    #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date == old)
  }

  @Test func `the book has a maximum, and forgets the oldest people`() throws {
    defer { book.removeAll() }
    for index in 0...PersonBook.maxCount {
      book.store(person("u\(index)"))
      // Files of the same moment have no order.
      if index == 0, let file = try FileManager.default.contentsOfDirectory(atPath: book.folder.path).first {
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: book.folder.path + "/" + file)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: book.folder.path).count == PersonBook.maxCount)
    #expect(book.person("u0") == nil)
    #expect(book.person("u500") != nil)
  }

  @Test(arguments: ["", "{", "[]", "{}", #"{"id":"ann","name":"Ann","handle":"ann","type":"fax"}"#])
  func `a file that is no entry is ignored`(_ text: String) throws {
    defer { book.removeAll() }
    book.store(person("ann"))
    let file = try #require(
      FileManager.default.contentsOfDirectory(at: book.folder, includingPropertiesForKeys: nil).first)
    try Data(text.utf8).write(to: file)
    #expect(book.person("ann") == nil)
    book.store(person("ann"))
    #expect(book.person("ann") == person("ann"))
  }

  @Test func `a payload names the group of its donation`() {
    let push = #"{"communication":{"recipient":"bob","sender":{"id":"ann"},"conversation":{"id":"tea"}}}"#
    #expect(CommunicationPayload(reading: push.utf8)?.donationGroup.identifier == "stillwire/bob/tea")
    for recipient in [#""../x","#, "7,", ""] {
      let push =
        #"{"communication":{"recipient":\#(recipient.isEmpty ? "null," : recipient)"sender":{"id":"ann"},"conversation":{"id":"tea"}}}"#
      #expect(CommunicationPayload(reading: push.utf8)?.donationGroup.identifier == "stillwire//tea", "\(recipient)")
    }
  }
}
