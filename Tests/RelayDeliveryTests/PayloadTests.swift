// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

private let id = "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"

/// The payload and the headers of a message's push.
@Suite struct PayloadTests {
  var subject = PayloadSubject(
    notification: id, recipient: UserID(unchecked: "bob"), sender: User(id: ann),
    room: PayloadRoom(id: RoomID(unchecked: "team"), recipientCount: 1),
    epoch: "e1", seq: 42,
    text: "Lunch?", badge: 3, expires: .at(999), app: PayloadApp(topic: "org.example.chat"))

  private func text(_ push: Push) -> String { String(decoding: push.payload, as: UTF8.self) }

  @Test func `a direct message has this payload`() throws {
    #expect(
      try text(Push(subject))
        == #"""
        {"aps":{"alert":{"title":"ann","body":"Lunch?"},"badge":3,"sound":"default","thread-id":"team","mutable-content":1,
        "interruption-level":"active"},
        "communication":{"kind":"message","sender":{"id":"ann","name":"ann","handle":"ann"},
        "conversation":{"id":"team","group":false},
        "mentionsMe":false,"replyToMe":false,"notifyAnyway":false,
        "recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"},
        "message":{"room":"team","epoch":"e1","seq":42}}
        """#.replacing("\n", with: ""))
  }

  @Test mutating func `a group message with all fields has this payload`() throws {
    subject.sender = User(
      id: ann, name: "Ann \"A\" 🌻", avatar: "https://example.org/a.png", handle: "+4930", handleType: "phoneNumber")
    subject.room.title = "Team\nrocket"
    subject.room.avatar = "https://example.org/r.png"
    subject.receipt = "1700000000.mark"
    (subject.room.isGroup, subject.room.recipientCount) = (true, 4)
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
        "body":"tab\there \u0001\u001f back\\slash / \#u{7F}\#u{2028}"},"badge":0,"sound":"default","thread-id":"team",
        "mutable-content":1,"interruption-level":"time-sensitive"},
        "communication":{"kind":"message","sender":{"id":"ann","name":"Ann \"A\" 🌻",
        "handle":"+4930","handleType":"phoneNumber","avatar":"https://example.org/a.png"},
        "conversation":{"id":"team","name":"Team\nrocket","group":true,"recipientCount":4,
        "avatar":"https://example.org/r.png"},
        "mentionsMe":true,"replyToMe":true,"notifyAnyway":true,
        "recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d","receipt":"1700000000.mark"},
        "message":{"room":"team","epoch":"e1","seq":42}}
        """#.replacing("\n", with: ""))
  }

  @Test(arguments: [nil, "", " ", "\n\t\u{A0}"])
  mutating func `a message without a text shows a key that is also an English text`(body: String?) throws {
    subject.text = body
    let expected = #"{"aps":{"alert":{"title":"ann","loc-key":"New message"},"badge":3,"#
    #expect(try text(Push(subject)).hasPrefix(expected))
  }

  @Test mutating func `an empty name, avatar, handle or title counts as absent`() throws {
    let plain = try Push(subject)
    subject.sender = User(id: ann, name: "", avatar: "", handle: "", handleType: "phoneNumber")
    subject.room.title = ""
    subject.room.avatar = ""
    #expect(try Push(subject) == plain)
  }

  @Test(arguments: [(false, 1, nil), (false, 9, nil), (true, 1, 1), (true, 2, 2), (true, 9_999, 9_999)])
  mutating func `a group has the count of its recipients, also if only two members are left`(
    isGroup: Bool, recipients: Int, count: Int?
  ) throws {
    (subject.room.isGroup, subject.room.recipientCount) = (isGroup, recipients)
    let conversation =
      if let count { #""conversation":{"id":"team","group":true,"recipientCount":\#(count)}"# } else {
        #""conversation":{"id":"team","group":false}"#
      }
    #expect(try text(Push(subject)).contains(conversation))
  }

  /// iOS plays no sound for a push without `sound`, whatever its level.
  @Test(
    arguments: [
      (.active, .message, .standard, #""default""#), (.timeSensitive, .message, .standard, #""default""#),
      (.passive, .message, .standard, nil), (.passive, .message, .file(SoundFile(name: "a")), nil),
      (.critical, .message, .standard, #"{"critical":1,"name":"default","volume":1}"#),
      (.active, .message, .none, nil), (.critical, .message, .none, nil), (.active, .call, .none, nil),
      (.active, .call, .standard, #""ring.caf""#), (.active, .call, .file(SoundFile(name: "a")), #""a""#),
      (.active, .call, .file(SoundFile(name: "default")), #""default""#),
      (.critical, .call, .standard, #"{"critical":1,"name":"ring.caf","volume":1}"#),
    ] as [(Level, MessageKind, PushSound, String?)])
  mutating func `an alert has a sound unless it is passive or its sender requests none`(
    level: Level, kind: MessageKind, sound: PushSound, expected: String?
  ) throws {
    subject.level = level
    subject.kind = kind
    subject.style.sound = sound
    subject.app.ringtone = "ring.caf"
    for push in [try Push(subject), try Push(DigestSubject(newest: subject, count: 2))] {
      if let expected {
        #expect(text(push).contains(#""sound":\#(expected),"#))
      } else {
        #expect(!text(push).contains("sound"))
      }
    }
  }

  @Test mutating func `a call has the default sound if the app has no ringtone`() throws {
    subject.kind = .call
    #expect(try text(Push(subject)).contains(#""sound":"default""#))
  }

  @Test(arguments: ["http://example.org/a.png", "a.png", "data:image/png;base64,AA", "https://"])
  mutating func `a push contains only picture URLs with https`(url: String) throws {
    subject.sender.avatar = url
    subject.sender.avatarSHA256 = String(repeating: "0", count: 64)
    subject.room.avatar = url
    #expect(try !text(Push(subject)).contains("avatar"))
  }

  @Test mutating func `a picture has its hash in the push`() throws {
    subject.sender.avatar = "https://example.org/a.png"
    subject.sender.avatarSHA256 = String(repeating: "0f", count: 32)
    #expect(
      try text(Push(subject)).contains(
        #""avatar":"https://example.org/a.png","avatarSHA256":"\#(String(repeating: "0f", count: 32))"}"#))
  }

  @Test(
    arguments: [
      (nil, nil, nil), ("Team", nil, "Team"), ("Team", "Trip", "Team"), (nil, "Trip", "Trip"), ("", "Trip", "Trip"),
    ] as [(String?, String?, String?)])
  mutating func `the title of the room, or else the subtitle, names the conversation`(
    title: String?, subtitle: String?, name: String?
  ) throws {
    (subject.room.isGroup, subject.room.recipientCount) = (true, 2)
    subject.room.title = title
    subject.style.subtitle = subtitle.map(PushText.text)
    let expected =
      name.map { #""conversation":{"id":"team","name":"\#($0)","# } ?? #""conversation":{"id":"team","group""#
    #expect(try text(Push(subject)).contains(expected))
  }

  @Test mutating func `a hidden subtitle does not name the conversation`() throws {
    subject.hasPreview = false
    subject.style.subtitle = .text("secret")
    #expect(try !text(Push(subject)).contains("secret"))
  }

  @Test mutating func `a plain push has its ids and no intent`() throws {
    subject.style.isCommunication = false
    subject.receipt = "1700000000.mark"
    #expect(
      try text(Push(subject)).hasSuffix(
        #"""
        "push":{"recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d","receipt":"1700000000.mark"},
        "message":{"room":"team","epoch":"e1","seq":42}}
        """#.replacing("\n", with: "")))
    #expect(try !text(Push(subject)).contains("communication"))
    subject.kind = .call
    #expect(try text(Push(subject)).contains(#""communication":{"kind":"call""#))
  }

  @Test mutating func `the operator's texts replace the keys`() throws {
    subject.text = nil
    subject.app.texts = PushTexts([.newMessage: "Neue Nachricht", .incomingCall: "Anruf", .messages: "%1$@ neue"])
    #expect(try text(Push(subject)).contains(#""body":"Neue Nachricht""#))
    #expect(try text(Push(DigestSubject(newest: subject, count: 3))).contains(#""title":"3 neue""#))
    subject.kind = .call
    #expect(try text(Push(subject)).contains(#""body":"Anruf""#))
  }

  @Test(
    arguments: [
      ("%@ in %@", ["1", "2"], "1 in 2"), ("%2$@: %1$@", ["1", "2"], "2: 1"), ("100 %", ["1"], "100 %"),
      ("%", [], "%"), ("%d %@", ["1"], "%d 1"), ("%@", [], ""), ("%9$@", ["1"], ""),
    ] as [(String, [String], String)])
  mutating func `a text is filled with its arguments`(format: String, arguments: [String], expected: String) {
    let texts = PushTexts([.messages: format])
    let text =
      switch arguments.count {
      case 0: texts.text(.messages)
      case 1: texts.text(.messages, arguments[0])
      default: texts.text(.messages, arguments[0], arguments[1])
      }
    #expect(text == .text(expected))
  }

  @Test func `a push has these headers`() throws {
    let push = try Push(subject)
    #expect(push.id == id)
    #expect(
      push.fields.map { "\($0.name): \($0.value)" } == [
        "apns-id: \(id)", "apns-push-type: alert", "apns-priority: 10", "apns-expiration: 1700000000",
        "apns-collapse-id: team/42/7e6e6f94", "apns-topic: org.example.chat",
      ])
  }

  @Test(arguments: zip(Level.allCases, ["passive", "active", "time-sensitive", "critical"]))
  mutating func `the level has Apple's spelling`(level: Level, spelling: String) throws {
    subject.level = level
    let push = try Push(subject)
    #expect(text(push).contains(#""interruption-level":"\#(spelling)""#))
    #expect(push.headers.priority == (level == .passive ? .low : .high))
  }

  @Test mutating func `the expiration is never 0, which means a single attempt`() throws {
    subject.expires = Timestamp(rawValue: 999)
    #expect(try Push(subject).headers.expiration == 1)
  }
}
