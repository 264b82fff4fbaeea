// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// The push of a digest: its texts, its order, and the rooms that fit.
@Suite struct DigestTests {
  private static let newest = PayloadSubject(
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: UserID(unchecked: "bob"),
    sender: User(id: ann, name: "Ann"),
    room: PayloadRoom(id: RoomID(unchecked: "team"), title: "Team", recipientCount: 3, isGroup: true), epoch: "e1",
    seq: 42,
    text: "Lunch?",
    level: .passive, badge: 7, isMention: true, expires: .at(999), app: PayloadApp(topic: "org.example.chat"))

  private static func room(
    _ name: String, count: Int = 1, seq: Int64 = 1, sender: String? = "Bob", text: String? = "Hi"
  ) -> DigestRoom {
    DigestRoom(
      room: RoomID(unchecked: name), count: count, seq: seq, sender: User(id: bob, name: sender), text: text)
  }

  private func text(_ digest: DigestSubject) throws -> String {
    String(decoding: try Push(digest).payload, as: UTF8.self)
  }

  private func object(_ digest: DigestSubject) throws -> [String: Any] {
    let payload = try Push(digest).payload
    #expect(payload.count <= Push.maxPayload)
    return try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
  }

  private func alert(_ digest: DigestSubject) throws -> [String: Any] {
    let aps = try #require(try object(digest)["aps"] as? [String: Any])
    return try #require(aps["alert"] as? [String: Any])
  }

  private func body(_ digest: DigestSubject) throws -> String { try #require(try alert(digest)["body"] as? String) }

  private func listed(_ digest: DigestSubject) throws -> [String] {
    let list = try #require(try object(digest)["digest"] as? [[String: Any]])
    return list.compactMap { $0["room"] as? String }
  }

  @Test func `a digest of several rooms has this payload`() throws {
    let digest = DigestSubject(
      newest: Self.newest, count: 3, others: [Self.room("d:ann:bob", count: 4, seq: 9, sender: nil)])
    #expect(
      try text(digest)
        == #"""
        {"aps":{"alert":{"title-loc-key":"%@ messages in %@ rooms","title-loc-args":["7","2"],
        "body":"Ann: Lunch?\nbob: Hi"},"badge":7,"thread-id":"/digest","mutable-content":1,
        "interruption-level":"passive"},
        "push":{"recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"},
        "message":{"room":"team","epoch":"e1","seq":42},
        "digest":[{"room":"team","seq":42,"count":3},{"room":"d:ann:bob","seq":9,"count":4}]}
        """#.replacing("\n", with: ""))
  }

  @Test func `a digest of one room has the thread of the room`() throws {
    let digest = DigestSubject(newest: Self.newest, count: 3)
    let text = try text(digest)
    #expect(text.contains(#""title-loc-key":"%@ messages in %@","title-loc-args":["3","Team"],"body":"Ann: Lunch?""#))
    #expect(text.contains(#""thread-id":"team""#))
    #expect(text.hasSuffix(#","digest":[{"room":"team","seq":42,"count":3}]}"#))
  }

  @Test(arguments: [nil, ""])
  func `a digest does not name a room without a title`(title: String?) throws {
    var digest = DigestSubject(newest: Self.newest, count: 3)
    digest.newest.room.title = title
    #expect(try text(digest).contains(#""title-loc-key":"%@ messages","title-loc-args":["3"],"#))
  }

  @Test func `two rooms with one message each become a digest`() throws {
    let digest = DigestSubject(newest: Self.newest, others: [Self.room("x")])
    #expect(try alert(digest)["title-loc-args"] as? [String] == ["2", "2"])
  }

  @Test func `a single message is pushed without a digest`() throws {
    #expect(try Push(DigestSubject(newest: Self.newest)) == Push(Self.newest))
  }

  @Test func `removals fit into a push if its payload has capacity for them and its rooms`() {
    var removals = Removals()
    removals.add(MessageReference(room: RoomID(unchecked: "team"), seq: 41), isRead: true)
    func minSize(_ fits: (Int) -> Bool) -> Int? { (300...600).first(where: fits) }
    let sizes = (1...2).map { count in
      minSize { DigestSubject(newest: Self.newest, count: count).fits(removals, maxSize: $0) }
    }
    var alone = Self.newest
    alone.removals = removals
    let aloneSize = minSize { (try? fittedPayload(of: alone, maxSize: $0)) != nil }
    #expect(sizes[0] == aloneSize)
    // A digest has shorter texts and other members.
    #expect(sizes[1] != nil && sizes[1] != sizes[0])
  }

  @Test func `the newest message determines the id and the headers`() throws {
    let digest = DigestSubject(newest: Self.newest, count: 2)
    let (push, alone) = (try Push(digest), try Push(Self.newest))
    #expect(push.id == alone.id)
    #expect(push.headers == alone.headers)
    #expect(push.headers.collapseID == "team/42/7e6e6f94")
    #expect(push.headers.priority == .low)
  }

  @Test(arguments: zip(Level.allCases, ["passive", "active", "time-sensitive", "critical"]))
  func `a digest has the decided level`(level: Level, spelling: String) throws {
    var digest = DigestSubject(newest: Self.newest, count: 2)
    digest.newest.level = level
    #expect(try text(digest).contains(#""interruption-level":"\#(spelling)""#))
  }

  @Test(
    arguments: [
      ("two\nlines \r\n and\t tabs ", "Ann: two lines and tabs"), ("", "Ann"), (" \n ", "Ann"), (nil, "Ann"),
      ("\u{1}", "Ann"), ("a\u{202E}b\u{1}c", "Ann: abc"),
      (String(repeating: "a", count: 155), "Ann: " + String(repeating: "a", count: 155)),
      (String(repeating: "a", count: 155) + " \n ", "Ann: " + String(repeating: "a", count: 155)),
      (String(repeating: "a", count: 155) + " b", "Ann: " + String(repeating: "a", count: 154) + "…"),
      (String(repeating: "a", count: 156), "Ann: " + String(repeating: "a", count: 154) + "…"),
      (String(repeating: "👩🏽‍🚀", count: 300), "Ann: " + String(repeating: "👩🏽‍🚀", count: 154) + "…"),
    ] as [(String?, String)])
  func `each room has one line`(text: String?, line: String) throws {
    var digest = DigestSubject(newest: Self.newest, count: 2)
    digest.newest.text = text
    #expect(try body(digest) == line)
  }

  @Test func `a digest that does not fit leaves out the rooms with the oldest messages`() throws {
    let others = (1...500).map { Self.room("room\($0)", count: 2, text: String(repeating: "a", count: 100)) }
    let digest = DigestSubject(newest: Self.newest, count: 3, others: others)
    let rooms = try listed(digest)
    #expect(rooms == (["team"] + others.map(\.room.rawValue)).prefix(rooms.count).map { $0 })
    #expect(rooms.count > 15)
    #expect(try body(digest).split(separator: "\n").count == rooms.count)
    #expect(try alert(digest)["title-loc-args"] as? [String] == ["1003", "501"])
    // One more room would not fit.
    #expect(try Push(digest).payload.count > Push.maxPayload - 160)
  }

  @Test func `a payload has fewer rooms than the code tries`() throws {
    var newest = Self.newest
    (newest.text, newest.room.title, newest.epoch) = (nil, nil, "")
    newest.sender = User(id: UserID(unchecked: "a"))
    let others = (1...500).map { _ in
      DigestRoom(room: RoomID(unchecked: "r"), count: 1, seq: 1, sender: newest.sender, text: nil)
    }
    let rooms = try listed(DigestSubject(newest: newest, others: others))
    #expect((90..<Push.maxPayload / 32).contains(rooms.count))
  }

  @Test func `the line of the only room that fits is shortened`() throws {
    var digest = DigestSubject(newest: Self.newest, count: 3, others: [Self.room("x")])
    digest.newest.criteria = String(repeating: "a", count: 3_600)
    digest.newest.text = String(repeating: "𐍈", count: 150)
    #expect(try listed(digest) == ["team"])
    let body = try body(digest)
    #expect(body.hasPrefix("Ann: 𐍈"))
    #expect(body.hasSuffix("𐍈…"))
    #expect((Push.maxPayload - 5...Push.maxPayload).contains(try Push(digest).payload.count))
  }

  @Test func `the newest message is pushed alone if no digest fits`() throws {
    var digest = DigestSubject(newest: Self.newest, count: 3, others: [Self.room("x")])
    digest.newest.sender = User(id: Self.newest.sender.id)
    // A communication notification has more members around its text than a digest.
    digest.newest.style.isCommunication = false
    let rest = try Push(digest.newest).payload.count
    digest.newest.criteria = String(repeating: "a", count: Push.maxPayload - rest - 40)
    #expect(try Push(digest) == Push(digest.newest))
    digest.newest.criteria = String(repeating: "a", count: Push.maxPayload)
    #expect(throws: PayloadError.self) { try Push(digest) }
  }

  @Test func `a long name of the newest sender does not displace the other rooms`() throws {
    var digest = DigestSubject(newest: Self.newest, count: 3, others: [Self.room("x"), Self.room("y")])
    let others = try listed(digest)
    digest.newest.sender.avatar = String(repeating: "\"", count: User.maxAvatarLength)
    digest.newest.sender.name = String(repeating: "\u{1}", count: User.maxNameLength)
    #expect(try listed(digest) == others)
    #expect(try object(digest)["communication"] == nil)
  }

  @Test(arguments: 0..<20)
  func `a digest of any messages fits and is reproducible`(seed: Int) throws {
    var dice = SeededGenerator(seed: seed)
    for _ in 0..<5 {
      let others = (0..<dice.one(of: [0, 1, 2, 5, 60])).map { number in
        Self.room(
          String(repeating: "r", count: dice.one(of: [1, 20, 255])), count: dice.one(of: [1, 2, 1 << 40]),
          seq: Int64(number),
          sender: dice.one(of: [nil, "", "Ann", String(repeating: "\u{1}", count: 256)]),
          text: dice.one(of: [nil, "", "Hi", String(repeating: "🌻", count: 5_000), String(repeating: "\"", count: 170)])
        )
      }
      var digest = DigestSubject(newest: Self.newest, count: dice.one(of: [1, 2]), others: others)
      digest.newest.text = dice.one(of: [nil, "Hi", String(repeating: "\u{2}", count: 5_000)])
      let push = try Push(digest)
      #expect(push.payload.count <= Push.maxPayload)
      #expect(try Push(digest) == push)
      _ = try object(digest)
    }
  }
}
