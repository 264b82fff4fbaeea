// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

private let id = "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"

@Suite struct PayloadTests {
  var subject = PayloadSubject(
    notification: id, sender: User(id: ann), room: RoomID(unchecked: "team"), memberCount: 2, epoch: "e1", seq: 42,
    text: "Lunch?", badge: 3, expires: .at(999), topic: "org.example.chat")

  private func text(_ push: Push) -> String { String(decoding: push.payload, as: UTF8.self) }

  @Test func `a direct message`() throws {
    #expect(
      try text(Push(subject))
        == #"""
        {"aps":{"alert":{"title":"ann","body":"Lunch?"},"badge":3,"thread-id":"team","mutable-content":1,
        "interruption-level":"active"},
        "communication":{"kind":"message","sender":{"id":"ann","name":"ann"},
        "conversation":{"id":"team","group":false},
        "mentionsMe":false,"replyToMe":false,"notifyAnyway":false,
        "notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"},
        "message":{"room":"team","epoch":"e1","seq":42}}
        """#.replacing("\n", with: ""))
  }

  @Test mutating func `a message in a group with all that may be told`() throws {
    subject.sender = User(
      id: ann, name: "Ann \"A\" 🌻", avatar: "https://example.org/a.png", handle: "+4930", handleType: "phoneNumber")
    subject.roomTitle = "Team\nrocket"
    subject.roomAvatar = "https://example.org/r.png"
    subject.receipt = "1700000000.mark"
    subject.memberCount = 5
    subject.text = "tab\there \u{1}\u{1F} back\\slash / \u{7F}\u{2028}"
    subject.isMention = true
    subject.isReply = true
    subject.isNotifyAnyway = true
    subject.level = .timeSensitive
    subject.badge = -1
    #expect(
      try text(Push(subject))
        == #"""
        {"aps":{"alert":{"title":"Ann \"A\" 🌻","subtitle":"Team\nrocket",
        "body":"tab\there \u0001\u001f back\\slash / \#u{7F}\#u{2028}"},"badge":0,"thread-id":"team",
        "mutable-content":1,"interruption-level":"time-sensitive"},
        "communication":{"kind":"message","sender":{"id":"ann","name":"Ann \"A\" 🌻",
        "handle":"+4930","handleType":"phoneNumber","avatar":"https://example.org/a.png"},
        "conversation":{"id":"team","name":"Team\nrocket","group":true,"recipientCount":3,
        "avatar":"https://example.org/r.png"},
        "mentionsMe":true,"replyToMe":true,"notifyAnyway":true,
        "notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d","receipt":"1700000000.mark"},
        "message":{"room":"team","epoch":"e1","seq":42}}
        """#.replacing("\n", with: ""))
  }

  @Test(arguments: [nil, "", " ", "\n\t\u{A0}"])
  mutating func `a message without a text has a key that reads well untranslated`(body: String?) throws {
    subject.text = body
    let expected = #"{"aps":{"alert":{"title":"ann","loc-key":"New message"},"badge":3,"#
    #expect(try text(Push(subject)).hasPrefix(expected))
  }

  @Test mutating func `an empty name, avatar, handle or title is none`() throws {
    let plain = try Push(subject)
    subject.sender = User(id: ann, name: "", avatar: "", handle: "", handleType: "phoneNumber")
    subject.roomTitle = ""
    subject.roomAvatar = ""
    #expect(try Push(subject) == plain)
  }

  @Test(arguments: [(0, nil), (1, nil), (2, nil), (3, 1), (4, 2), (10_000, 9_998)] as [(Int, Int?)])
  mutating func `a room is a group above two members and counts who is neither sender nor recipient`(
    members: Int, count: Int?
  ) throws {
    subject.memberCount = members
    let conversation =
      if let count { #""conversation":{"id":"team","group":true,"recipientCount":\#(count)}"# } else {
        #""conversation":{"id":"team","group":false}"#
      }
    #expect(try text(Push(subject)).contains(conversation))
  }

  @Test func `the headers say what the push is`() throws {
    let push = try Push(subject)
    #expect(push.id == id)
    #expect(
      push.fields.map { "\($0.name): \($0.value)" } == [
        "apns-id: \(id)", "apns-push-type: alert", "apns-priority: 10", "apns-expiration: 1700000000",
        "apns-collapse-id: team/42", "apns-topic: org.example.chat",
      ])
  }

  @Test(arguments: zip(Level.allCases, ["passive", "active", "time-sensitive", "critical"]))
  mutating func `the level has Apple's spelling`(level: Level, spelling: String) throws {
    subject.level = level
    let push = try Push(subject)
    #expect(text(push).contains(#""interruption-level":"\#(spelling)""#))
    #expect(push.headers.priority == (level == .passive ? .low : .high))
  }

  @Test mutating func `an expiration is never the one that means to try once`() throws {
    subject.expires = Timestamp(rawValue: 999)
    #expect(try Push(subject).headers.expiration == 1)
  }
}
