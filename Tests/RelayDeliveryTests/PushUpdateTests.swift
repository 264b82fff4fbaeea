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
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: UserID(unchecked: "bob"), sender: User(id: ann),
    room: PayloadRoom(id: RoomID(unchecked: "team"), recipientCount: 1), epoch: "e1", seq: 42, text: "Lunch!",
    level: .critical, badge: 3, isNotifyAnyway: true,
    expires: .at(999), app: PayloadApp(topic: "org.example.chat"))

  private let bob = UserID(unchecked: "bob")

  private func push(_ content: PhonePush.Content, removals: Removals = Removals(), kept: Timestamp? = nil) throws
    -> Push
  {
    try Push(PhonePush(id: id, to: bob, topic: "org.example.chat", content, removals: removals, keptUntil: kept))
  }

  private func text(_ push: Push) -> String { String(decoding: push.payload, as: UTF8.self) }

  private func expectClean(_ push: Push) {
    // A push that the service tries once is a note.
    let findings = PushLint.check(push.payload, headers: push.fields).findings
    #expect(findings.filter { $0.severity != .note } == [])
  }

  private var removals: Removals {
    var removals = Removals()
    removals.add(MessageReference(room: RoomID(unchecked: "tea"), seq: 7), isRead: true)
    removals.add(MessageReference(room: RoomID(unchecked: "den"), seq: 3), isRead: false)
    return removals
  }

  private let removalsText = #""read":[{"room":"tea","seq":7}],"removed":[{"room":"den","seq":3}]"#

  @Test func `a change repeats the message's push without a sound`() throws {
    var loud = subject
    loud.style.sound = .file(SoundFile(name: "siren", isCritical: true))
    let push = try push(.change(DigestSubject(newest: loud), .current))
    #expect(push.id == id)
    #expect(try push.headers.collapseID == Push(loud).headers.collapseID)
    #expect((push.headers.priority, push.headers.expiration) == (.low, 0))
    let text = text(push)
    #expect(text.contains(#""body":"Lunch!""#))
    #expect(text.contains(#""interruption-level":"passive""#))
    #expect(text.contains(#""notifyAnyway":false"#))
    #expect(text.contains(#""notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d""#))
    #expect(!text.contains("sound"))
    expectClean(push)
  }

  @Test func `a change can replace the text, and the service may keep it`() throws {
    let push = try push(.change(DigestSubject(newest: subject), .missed), kept: .at(5_000))
    #expect(text(push).contains(#""loc-key":"Missed call""#))
    #expect(!text(push).contains("Lunch"))
    #expect(push.headers.expiration == 1_000_005 || push.headers.expiration == Timestamp.at(5_000).rawValue / 1000)
    expectClean(push)
  }

  @Test func `a badge update has only a badge`() throws {
    let push = try push(.badge(0))
    #expect(text(push) == #"{"aps":{"badge":0},"push":{"recipient":"bob"}}"#)
    #expect((push.headers.type, push.headers.priority, push.headers.expiration) == (.alert, .low, 0))
    expectClean(push)
  }

  @Test func `a badge update with removals wakes the app`() throws {
    let push = try push(.badge(2), removals: removals)
    #expect(text(push) == #"{"aps":{"badge":2,"content-available":1},"push":{"recipient":"bob"},\#(removalsText)}"#)
    #expect((push.headers.type, push.headers.priority) == (.alert, .low))
    expectClean(push)
  }

  @Test func `removals without a badge are a background push`() throws {
    let push = try push(.removal, removals: removals)
    #expect(text(push) == #"{"aps":{"content-available":1},"push":{"recipient":"bob"},\#(removalsText)}"#)
    #expect((push.headers.type, push.headers.priority) == (.background, .low))
    expectClean(push)
  }

  @Test func `an alert carries removals, which take no space from names`() throws {
    let push = try push(.alert(DigestSubject(newest: subject)), removals: removals)
    #expect(text(push).contains(removalsText))
    var many = Removals()
    for seq in 1...30 {
      many.add(
        MessageReference(room: RoomID(unchecked: String(repeating: "r", count: 60)), seq: Int64(seq)), isRead: false)
    }
    #expect(many.count == Removals.maxCount)
    #expect(many.fitting(Removals.maxSizeInAlert).count < Removals.maxCount)
    #expect(many.fitting(0).isEmpty)
    var full = PhonePush(
      id: id, to: bob, topic: "org.example.chat", .alert(DigestSubject(newest: subject)), removals: many)
    full.maxSize = try Push(PhonePush(id: id, to: bob, topic: "", .alert(DigestSubject(newest: subject)))).payload.count
    let text = text(try Push(full))
    #expect(!text.contains(#""removed""#) && text.contains("…") == false)
  }

  @Test func `a silent push has no alert`() throws {
    let push = try push(
      .wake(MessageReference(room: subject.room.id, seq: 42), epoch: "e1", data: Array(#"{"sync":true}"#.utf8)))
    #expect(
      text(push)
        == #"{"aps":{"content-available":1},"message":{"room":"team","epoch":"e1","seq":42},"sync":true,"push":{"recipient":"bob"}}"#
    )
    #expect((push.headers.type, push.headers.priority) == (.background, .low))
    expectClean(push)
  }

  private var contents: [PhonePush.Content] {
    var plain = subject
    plain.style.isCommunication = false
    plain.style.image = "https://a.example/picture"
    let other = DigestRoom(room: RoomID(unchecked: "den"), count: 1, seq: 3, sender: User(id: ann), text: nil)
    return [
      .alert(DigestSubject(newest: subject)), .alert(DigestSubject(newest: plain)),
      .alert(DigestSubject(newest: subject, others: [other])), .ring(subject),
      .change(DigestSubject(newest: subject), .deleted), .badge(2),
      .wake(subject.message, epoch: "e1", data: []), .removal,
    ]
  }

  @Test func `no sender can write a key of the relay`() throws {
    for content in contents {
      let payload = try push(content, removals: removals).payload
      // A VoIP push has the keys of senders in `data`.
      let json = JSON(reading: payload)
      guard case .object(let members)? = json?["data"] ?? json else {
        Issue.record("\(content) has no payload")
        continue
      }
      #expect(members.keys.filter { !PushStyle.isReserved($0) } == [])
    }
  }
}
