// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayDelivery

/// Pushes other than those of new messages: changes, badges, silent pushes.
@Suite struct PushUpdateTests {
  private let id = "00000000-0000-4000-8000-000000000001"
  private let subject = PayloadSubject(
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", sender: User(id: ann),
    room: PayloadRoom(id: RoomID(unchecked: "team"), recipientCount: 1), epoch: "e1", seq: 42, text: "Lunch!",
    level: .critical, badge: 3, isNotifyAnyway: true,
    expires: .at(999), app: PayloadApp(topic: "org.example.chat"))

  private func text(_ push: Push) -> String { String(decoding: push.payload, as: UTF8.self) }

  private func expectClean(_ push: Push) {
    #expect(PushLint.check(push.payload, headers: push.fields).findings == [])
  }

  @Test func `a change repeats the message's push without a sound`() throws {
    var loud = subject
    loud.style.sound = .file(SoundFile(name: "siren", isCritical: true))
    let push = try Push(id: id, changing: loud, to: nil)
    #expect(push.id == id)
    #expect(try push.headers.collapseID == Push(loud).headers.collapseID)
    #expect(push.headers.priority == .low)
    let text = text(push)
    #expect(text.contains(#""body":"Lunch!""#))
    #expect(text.contains(#""interruption-level":"passive""#))
    #expect(text.contains(#""notifyAnyway":false"#))
    #expect(text.contains(#""notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d""#))
    #expect(!text.contains("sound"))
    expectClean(push)
  }

  @Test func `a change can replace the text`() throws {
    let push = try Push(id: id, changing: subject, to: .localized(key: "Missed call"))
    #expect(text(push).contains(#""loc-key":"Missed call""#))
    #expect(!text(push).contains("Lunch"))
    expectClean(push)
  }

  @Test func `a badge update has only a badge`() {
    let push = Push(id: id, badge: 0, expires: .at(0), topic: "org.example.chat")
    #expect(text(push) == #"{"aps":{"badge":0}}"#)
    #expect((push.headers.type, push.headers.priority) == (.alert, .low))
    expectClean(push)
  }

  @Test func `a silent push has no alert`() {
    let push = Push(
      id: id, waking: MessageReference(room: subject.room.id, seq: 42), epoch: "e1",
      data: Array(#"{"sync":true}"#.utf8),
      expires: .at(0), topic: "org.example.chat")
    #expect(
      text(push)
        == #"{"aps":{"content-available":1},"message":{"room":"team","epoch":"e1","seq":42},"sync":true}"#)
    #expect((push.headers.type, push.headers.priority) == (.background, .low))
    expectClean(push)
  }
}
