// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// Checks random pushes of the relay with the push linter.
@Suite struct LintedPushTests {
  @Test func `the linter finds no fault in any random push`() throws {
    var dice = SeededGenerator(seed: 11)
    for _ in 0..<600 {
      let newest = PayloadSubject.random(using: &dice)
      let request = PushRequest(kind: newest.kind, level: newest.level, style: newest.style)
      do {
        try request.checkSize(sender: newest.sender.id, room: newest.room.id, hasPreview: newest.hasPreview)
      } catch {
        continue
      }
      try expectClean(Push(newest))
      let others = (0..<Int.random(in: 0...5, using: &dice)).map { index in
        DigestRoom(
          room: RoomID(unchecked: "other\(index)"), count: 1 + index, seq: 7, sender: newest.sender, text: newest.text)
      }
      try expectClean(Push(DigestSubject(newest: newest, count: dice.one(of: [1, 2, 100]), others: others)))
    }
  }

  private func expectClean(_ push: Push) {
    let report = PushLint.check(push.payload, headers: push.fields)
    // A sender may request no sound.
    let findings = report.findings.filter { $0.rule != .noSound }
    #expect(findings == [], "\(String(decoding: push.payload, as: UTF8.self))")
    #expect(PushLint.check(push.payload, isLenient: true).payload == push.payload)
  }
}

extension PayloadSubject {
  fileprivate static func random(using dice: inout SeededGenerator) -> PayloadSubject {
    let texts = [nil, "", " ", "Hi", "\u{0}\u{1}\"\\/\n\u{2028}", "😀é\u{FEFF}", String(repeating: "ж\"", count: 3_000)]
    return PayloadSubject(
      notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d",
      recipient: UserID(unchecked: "bob"),
      sender: User(
        id: UserID(unchecked: "ann"), name: dice.one(of: [nil, "", "Ann \"A\" 🌻", " "]),
        avatar: dice.one(of: [nil, "", "https://example.org/a.png"]),
        handle: dice.one(of: [nil, "", "ann@example.org"]),
        handleType: dice.one(of: [nil, "emailAddress"])),
      room: PayloadRoom(
        id: RoomID(unchecked: dice.one(of: ["tea", "d:ann:bob", String(repeating: "r", count: 200)])),
        title: dice.one(of: [nil, "", "Team\nrocket"]), recipientCount: dice.one(of: [1, 2, 9_999]),
        isGroup: dice.hits(oneIn: 2)), epoch: "e1",
      seq: dice.one(of: [1, 42, maxInteger]), kind: dice.one(of: [.message, .call]), text: dice.one(of: texts),
      style: .random(using: &dice), hasPreview: !dice.hits(oneIn: 3),
      level: dice.one(of: Level.allCases), badge: dice.one(of: [-1, 0, 7]), isMention: dice.hits(oneIn: 2),
      isReply: dice.hits(oneIn: 2), isNotifyAnyway: dice.hits(oneIn: 2), criteria: dice.one(of: [nil, "", "work"]),
      expires: .at(999), app: PayloadApp(topic: "org.example.chat"),
      receipt: dice.one(of: [nil, "1700000000.3q2-796tvu_erb7v3q2-7w"]))
  }
}
