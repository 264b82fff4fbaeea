// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The shortening of long texts in payloads.
@Suite final class ShorteningTests {
  private var subject = PayloadSubject(
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: UserID(unchecked: "bob"),
    sender: User(id: ann, name: "Ann"),
    room: PayloadRoom(id: RoomID(unchecked: "team"), recipientCount: 1), epoch: "e1",
    seq: 42, text: nil, badge: 3, expires: .at(0), app: PayloadApp(topic: "org.example.chat"))

  /// The bytes that are left for the text.
  private var room: Int {
    get throws {
      var short = subject
      short.text = "x"
      return try Push.maxPayload - Push(short).payload.count + 1
    }
  }

  private func body(of text: String) throws -> String {
    subject.text = text
    let payload = try Push(subject).payload
    #expect(payload.count <= Push.maxPayload)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
    let aps = try #require(object["aps"] as? [String: Any])
    let alert = try #require(aps["alert"] as? [String: Any])
    return try #require(alert["body"] as? String)
  }

  @Test func `a text that just fits stays, and a longer one is shortened`() throws {
    let room = try room
    let full = String(repeating: "a", count: room)
    #expect(try body(of: full) == full)
    #expect(try Push(subject).payload.count == 4096)
    #expect(try body(of: full + "a") == String(repeating: "a", count: room - 3) + "…")
    #expect(try Push(subject).payload.count == 4096)
  }

  /// Each argument is a character and its number of bytes in JSON.
  @Test(arguments: [
    ("ä", 2), ("e\u{301}", 3), ("🌻", 4), ("👩🏽‍🚀", 15), ("🇨🇭", 8), ("\n", 2), ("\"", 2), ("\u{1}", 6), ("\r\n", 4),
  ])
  func `a cut never divides a character`(character: String, size: Int) throws {
    let room = try room
    let body = try body(of: "a" + String(repeating: character, count: 5_000))
    #expect(body == "a" + String(repeating: character, count: (room - 3 - 1) / size) + "…")
  }

  @Test func `the cut is at the limit, whatever the beginning of the text`() throws {
    let room = try room
    for lead in 0..<16 {
      let start = String(repeating: "a", count: lead)
      let body = try body(of: start + String(repeating: "👩🏽‍🚀", count: 1_000))
      #expect(body == start + String(repeating: "👩🏽‍🚀", count: (room - 3 - lead) / 15) + "…")
    }
  }

  @Test func `a text whose first character is too long becomes an ellipsis`() throws {
    #expect(try body(of: "e" + String(repeating: "\u{301}", count: 5_000)) == "…")
  }

  @Test func `a payload that is too large without its text is an error`() throws {
    subject.text = "Hello"
    subject.criteria = String(repeating: "a", count: 4_096)
    let error = try #require(throws: PayloadError.self) { try Push(subject) }
    #expect(error.code == .tooLarge)
    #expect(error.size > 4_096)
    subject.text = nil
    #expect(throws: PayloadError.self) { try Push(subject) }
  }

  @Test func `an avatar and a name that are too large are left out, and the text stays`() throws {
    subject.text = "Hello"
    subject.sender.avatar = nil
    var light = subject
    subject.sender.avatar = String(repeating: "\"", count: User.maxAvatarLength)
    #expect(try Push(subject) == Push(light))
    subject.criteria = String(repeating: "a", count: 1_500)
    subject.sender.name = String(repeating: "\u{1}", count: User.maxNameLength)
    light.criteria = subject.criteria
    light.sender = User(id: subject.sender.id)
    #expect(try Push(subject) == Push(light))
    #expect(try body(of: "Hello") == "Hello")
  }

  @Test func `a payload without space for the ellipsis is an error`() throws {
    subject.text = "Hello"
    subject.criteria = "a"
    let room = try room
    subject.text = "Hello"
    subject.criteria = String(repeating: "a", count: 1 + room - 3)
    #expect(try body(of: "Hello") == "…")
    #expect(try Push(subject).payload.count == 4_096)
    subject.criteria?.append("a")
    let error = try #require(throws: PayloadError.self) { try Push(subject) }
    #expect(error.size == 4_097)
    #expect(error.description == "the payload needs 4097 bytes, 4096 are allowed")
    #expect(try body(of: "Hi") == "Hi")
  }
}
