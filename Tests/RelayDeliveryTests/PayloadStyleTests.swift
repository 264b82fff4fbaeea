// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// The sender's options for the look and the sound of a push, and their effect on the payload.
@Suite struct PayloadStyleTests {
  var subject = PayloadSubject(
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: UserID(unchecked: "bob"),
    sender: User(id: ann, name: "Ann"),
    room: PayloadRoom(id: RoomID(unchecked: "team"), title: "Team", recipientCount: 1), epoch: "e1", seq: 42,
    text: "Lunch?",
    badge: 3, expires: .at(999), app: PayloadApp(topic: "org.example.chat"))

  private func members(_ push: Push) throws -> [String: Any] { try object(push.payload) }

  private func object(_ text: some Sequence<UInt8>) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
  }

  private static let changes: [(String, @Sendable (inout PushStyle) -> Void, String)] = [
    ("title", { $0.title = .text("T") }, #"{"aps":{"alert":{"title":"T"}}}"#),
    (
      "titleKey", { $0.title = .localized(key: "K", arguments: ["a", "b"]) },
      #"{"aps":{"alert":{"title":null,"title-loc-key":"K","title-loc-args":["a","b"]}}}"#
    ),
    ("subtitle", { $0.subtitle = .text("S") }, #"{"aps":{"alert":{"subtitle":"S"}}}"#),
    (
      "subtitleKey", { $0.subtitle = .localized(key: "K") },
      #"{"aps":{"alert":{"subtitle":null,"subtitle-loc-key":"K"}}}"#
    ),
    ("body", { $0.body = .text("B") }, #"{"aps":{"alert":{"body":"B"}}}"#),
    (
      "bodyKey", { $0.body = .localized(key: "K", arguments: ["a"]) },
      #"{"aps":{"alert":{"body":null,"loc-key":"K","loc-args":["a"]}}}"#
    ),
    ("relevance", { $0.relevance = 0.75 }, #"{"aps":{"relevance-score":0.75}}"#),
    ("no sound", { $0.sound = .none }, #"{"aps":{"sound":null}}"#),
    ("sound", { $0.sound = .file(SoundFile(name: "a.caf")) }, #"{"aps":{"sound":"a.caf"}}"#),
    (
      "sound with a volume", { $0.sound = .file(SoundFile(name: "a", volume: 0.5)) },
      #"{"aps":{"sound":{"name":"a","volume":0.5}}}"#
    ),
    ("badge", { $0.badge = .number(0) }, #"{"aps":{"badge":0}}"#),
    ("no badge", { $0.badge = .unchanged }, #"{"aps":{"badge":null}}"#),
    ("category", { $0.category = CategoryID(unchecked: "c") }, #"{"aps":{"category":"c"}}"#),
    ("thread", { $0.thread = .own("t") }, #"{"aps":{"thread-id":"t"}}"#),
    ("no thread", { $0.thread = .app }, #"{"aps":{"thread-id":null}}"#),
    ("target", { $0.target = "w" }, #"{"aps":{"target-content-id":"w"}}"#),
    ("image", { $0.image = "https://a.example/" }, #"{"image":"https://a.example/"}"#),
    (
      "data", { $0.data = Array(#"{"a":{"z":false},"k":[1.50,null]}"#.utf8) },
      #"{"k":[1.5,null],"a":{"z":false}}"#
    ),
  ]

  /// Applies `change` to `base`. A null deletes a member.
  private func merged(_ base: [String: Any], _ change: [String: Any]) -> [String: Any] {
    var result = base
    for (key, value) in change {
      if value is NSNull {
        result[key] = nil
      } else if let inner = value as? [String: Any], let known = base[key] as? [String: Any] {
        result[key] = merged(known, inner)
      } else {
        result[key] = value
      }
    }
    return result
  }

  @Test(arguments: changes.indices)
  mutating func `each field changes only its part of the payload`(index: Int) throws {
    let (field, change, difference) = Self.changes[index]
    let plain = try Push(subject)
    change(&subject.style)
    let push = try Push(subject)
    let expected = try merged(members(plain), object(difference.utf8))
    #expect(try NSDictionary(dictionary: members(push)) == NSDictionary(dictionary: expected), "\(field)")
    #expect(push.headers == plain.headers, "\(field)")
  }

  @Test mutating func `all fields together have this payload`() throws {
    for (_, change, _) in Self.changes { change(&subject.style) }
    #expect(
      try String(decoding: Push(subject).payload, as: UTF8.self)
        == #"""
        {"aps":{"alert":{"title-loc-key":"K","title-loc-args":["a","b"],"subtitle-loc-key":"K","loc-key":"K",
        "loc-args":["a"]},"sound":{"name":"a","volume":0.5},"mutable-content":1,
        "interruption-level":"active","relevance-score":0.75,"category":"c","target-content-id":"w"},
        "communication":{"kind":"message","sender":{"id":"ann","name":"Ann","handle":"ann"},
        "conversation":{"id":"team","name":"Team","group":false},
        "mentionsMe":false,"replyToMe":false,"notifyAnyway":false,
        "recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"},
        "message":{"room":"team","epoch":"e1","seq":42},"image":"https://a.example/",
        "a":{"z":false},"k":[1.50,null]}
        """#.replacing("\n", with: ""))
  }

  @Test mutating func `pushes of one room replace each other if the message requests it`() throws {
    subject.style.collapse = .room
    #expect(try Push(subject).headers.collapseID == "team/newest/7e6e6f94")
    subject.seq = 43
    #expect(try Push(subject).headers.collapseID == "team/newest/7e6e6f94")
    subject.replaces = MessageReference(room: subject.room.id, seq: 43)
    #expect(try Push(subject).headers.collapseID == "team/newest/7e6e6f94")
    subject.replaces = MessageReference(room: subject.room.id, seq: 40)
    #expect(try Push(subject).headers.collapseID == "team/40/7e6e6f94")
    subject.replaces = nil
    subject.room.id = RoomID(unchecked: String(repeating: "r", count: 255))
    let id = try Push(subject).headers.collapseID
    #expect(id.utf8.count <= PushHeaders.maxCollapseID)
    subject.style.collapse = .message
    #expect(try Push(subject).headers.collapseID != id)
  }

  @Test(
    arguments: zip(
      Level.allCases,
      [nil, #""a""#, #""a""#, #"{"critical":1,"name":"a","volume":1}"#]))
  mutating func `the sound depends on the decided level`(level: Level, sound: String?) throws {
    subject.style.sound = .file(SoundFile(name: "a", isCritical: true))
    subject.level = level
    let text = try String(decoding: Push(subject).payload, as: UTF8.self)
    if let sound { #expect(text.contains(#""sound":\#(sound),"#)) } else { #expect(!text.contains("sound")) }
  }

  @Test mutating func `a call without a text shows the text for calls`() throws {
    subject.kind = .call
    subject.text = nil
    #expect(try String(decoding: Push(subject).payload, as: UTF8.self).contains(#""loc-key":"Incoming call""#))
  }

  @Test mutating func `without a preview, a push has no text of the message`() throws {
    subject.hasPreview = false
    subject.style.title = .text("secret")
    subject.style.subtitle = .localized(key: "K", arguments: ["secret"])
    subject.style.body = .text("secret")
    subject.style.data = Array(#"{"cipher":"Zm9v"}"#.utf8)
    subject.text = "secret"
    #expect(
      try String(decoding: Push(subject).payload, as: UTF8.self).hasPrefix(
        #"{"aps":{"alert":{"title":"Ann","subtitle":"Team","loc-key":"New message"},"#))
    #expect(try String(decoding: Push(subject).payload, as: UTF8.self).hasSuffix(#""cipher":"Zm9v"}"#))
    subject.style.title = .localized(key: "T")
    subject.style.body = .localized(key: "B")
    #expect(
      try String(decoding: Push(subject).payload, as: UTF8.self).hasPrefix(
        #"{"aps":{"alert":{"title-loc-key":"T","subtitle":"Team","loc-key":"B"},"#))
    let digest = try Push(DigestSubject(newest: subject, count: 2))
    #expect(!String(decoding: digest.payload, as: UTF8.self).contains("secret"))
  }

  @Test mutating func `a digest shows the sender's own body`() throws {
    subject.style.body = .text("own")
    let digest = try String(decoding: Push(DigestSubject(newest: subject, count: 2)).payload, as: UTF8.self)
    #expect(digest.contains(#""body":"Ann: own""#))
    subject.style.body = .localized(key: "K")
    #expect(
      try String(decoding: Push(DigestSubject(newest: subject, count: 2)).payload, as: UTF8.self)
        .contains(#""body":"Ann""#))
  }

  @Test mutating func `a long own body is shortened, and other fields stay`() throws {
    subject.style.body = .text(String(repeating: "é", count: 2_048))
    subject.style.data = Array("{\"a\":\"\(String(repeating: "x", count: 2_000))\"}".utf8)
    let push = try Push(subject)
    #expect((Push.maxPayload - 1...Push.maxPayload).contains(push.payload.count))
    #expect(try members(push)["a"] as? String == String(repeating: "x", count: 2_000))
  }

  @Test func `a message that passes the size check fits for every recipient`() throws {
    var dice = SeededGenerator(seed: 5)
    for _ in 0..<300 {
      var request = PushRequest()
      request.kind = dice.one(of: [.message, .call])
      request.level = dice.one(of: Level.allCases)
      request.style = .random(using: &dice)
      let room = RoomID(unchecked: dice.one(of: ["tea", String(repeating: "r", count: 255)]))
      guard (try? request.checkSize(sender: ann, room: room, hasPreview: true)) != nil else { continue }
      var subject = PayloadSubject(
        notification: self.subject.notification,
        recipient: UserID(unchecked: String(repeating: "u", count: UserID.maxLength)),
        sender: User(
          id: ann, name: String(repeating: "n", count: 256), avatar: "https://" + String(repeating: "a", count: 2_040),
          handle: String(repeating: "h", count: 256)),
        room: PayloadRoom(id: room, recipientCount: dice.one(of: [1, 9_999]), isGroup: dice.hits(oneIn: 2)),
        epoch: String(repeating: "e", count: 32),
        seq: maxInteger,
        kind: request.kind, text: String(repeating: "\u{1}", count: 5_000), style: request.style,
        level: dice.one(of: Level.allCases), badge: 1_000_000, isMention: true, isReply: true, isNotifyAnyway: true,
        criteria: String(repeating: "\u{1}", count: 128), expires: .at(999), app: PayloadApp(topic: "org.example.chat"),
        receipt: String(repeating: "r", count: PayloadSubject.maxReceiptLength))
      subject.app.ringtone = String(repeating: "r", count: PushStyle.maxSoundLength)
      let push = try Push(subject)
      #expect(push.payload.count <= Push.maxPayload)
    }
  }
}

extension PayloadStyleTests {
  @Test func `a critical push still fits after its level is lowered`() throws {
    var request = PushRequest()
    request.level = .critical
    let room = RoomID(unchecked: "tea")
    let fitting = (1_000...4_000).reversed().first { count in
      request.style.data = Array("{\"a\":\"\(String(repeating: "x", count: count))\"}".utf8)
      return (try? request.checkSize(sender: ann, room: room, hasPreview: true)) != nil
    }
    request.style.data = Array("{\"a\":\"\(String(repeating: "x", count: try #require(fitting)))\"}".utf8)
    for level in Level.allCases {
      let push = try Push(
        PayloadSubject(
          notification: self.subject.notification,
          recipient: UserID(unchecked: String(repeating: "u", count: UserID.maxLength)), sender: User(id: ann),
          room: PayloadRoom(id: room, recipientCount: 99999999, isGroup: true),
          epoch: String(repeating: "e", count: 32), seq: maxInteger, text: nil, style: request.style,
          level: level, badge: Int(PushStyle.maxBadge), criteria: String(repeating: "\u{1}", count: 128),
          expires: .at(0), app: PayloadApp(topic: ""),
          receipt: String(repeating: "r", count: PayloadSubject.maxReceiptLength)))
      #expect(push.payload.count <= Push.maxPayload)
    }
  }
}

extension PushStyle {
  /// Random options. Each field is set in some of the results.
  static func random(using dice: inout SeededGenerator) -> PushStyle {
    let texts: [PushText?] = [
      nil, .text("Text \"\\\u{1}😀"), .localized(key: "KEY"), .localized(key: "KEY", arguments: ["", "b\n"]),
      .text(String(repeating: "ж", count: 500)),
    ]
    var style = PushStyle()
    style.title = dice.one(of: texts)
    style.subtitle = dice.one(of: texts)
    style.body = dice.one(of: texts + [.text(String(repeating: "\u{1F}", count: 4_096))])
    style.relevance = dice.one(of: [nil, 0, 0.001, 1])
    style.sound = dice.one(of: [
      .standard, .none, .file(SoundFile(name: "default")), .file(SoundFile(name: "a.caf", volume: 0)),
      .file(SoundFile(name: "b", isCritical: true)),
    ])
    style.badge = dice.one(of: [.unread, .number(0), .number(1_000_000), .unchanged])
    style.category = dice.one(of: [nil, CategoryID(unchecked: "reply")])
    style.thread = dice.one(of: [.room, .own("a b"), .app])
    style.target = dice.one(of: [nil, "window"])
    style.image = dice.one(of: [nil, "https://a.example/b.png"])
    style.data = Array(
      dice.one(of: [
        "", #"{"cipher":"Zm9v","n":[1e3,null]}"#, #"{"category":1,"event":"x","payload":{"a":true},"title":"t"}"#,
        "{\"a\":\"\(String(repeating: "x", count: 1_500))\"}",
      ]).utf8)
    style.collapse = dice.one(of: CollapseScope.allCases)
    style.isCommunication = dice.one(of: [nil, true, false])
    return style
  }
}
