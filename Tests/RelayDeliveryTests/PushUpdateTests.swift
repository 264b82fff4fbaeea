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
    #expect(push.headers.expiration == 1_700_000_005)
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

  /// As many removals as a push may have, of rooms with the longest names.
  private var many: Removals {
    var many = Removals()
    for seq in 1...30 {
      let room = RoomID(unchecked: String(repeating: "r", count: RoomID.maxLength))
      many.add(MessageReference(room: room, seq: Int64(seq)), isRead: seq.isMultiple(of: 2))
    }
    return many
  }

  @Test func `a push has the removals that fit, the most urgent ones first`() {
    #expect(many.count == Removals.maxCount)
    #expect(many.fitting(0).isEmpty)
    let part = many.fitting(Removals.maxSizeInAlert)
    #expect((part.removed.map(\.seq), part.read.map(\.seq)) == ([1], [2]))
  }

  @Test func `the payload has the removals that the push carries`() throws {
    for content in contents {
      for removals in [removals, many] {
        let push = PhonePush(id: id, to: bob, topic: "org.example.chat", content, removals: removals)
        let payload = try Push(push).payload
        #expect(payload.count <= Push.maxPayload)
        let json = JSON(reading: payload)
        func count(_ list: String) -> Int {
          guard case .array(let entries)? = json?[list] else { return 0 }
          return entries.count
        }
        #expect(
          (count("read"), count("removed")) == (push.carried.read.count, push.carried.removed.count), "\(content)")
      }
    }
    func carried(_ content: PhonePush.Content) -> Int {
      PhonePush(id: id, to: bob, topic: "", content, removals: many).carried.count
    }
    #expect(carried(.ring(subject, for: .seconds(45))) == 0)
    #expect(carried(.alert(DigestSubject(newest: subject))) == 2)
    #expect((carried(.badge(2)), carried(.removal)) == (14, 14))
  }

  @Test func `removals take no space from names`() throws {
    let push = try push(.alert(DigestSubject(newest: subject)), removals: removals)
    #expect(text(push).contains(removalsText))
    for content in [
      PhonePush.Content.alert(DigestSubject(newest: subject)), .alert(DigestSubject(newest: subject, count: 2)),
    ] {
      var full = PhonePush(id: id, to: bob, topic: "org.example.chat", content, removals: removals)
      let complete = try Push(full).payload.count
      full.maxSize = complete
      #expect(full.carried == removals)
      full.maxSize = 200
      #expect(full.carried.isEmpty)
    }
  }

  @Test func `a push that takes the place of another message's notification names it`() throws {
    var later = subject
    later.replaces = MessageReference(room: RoomID(unchecked: "den"), seq: 7)
    let replaces = #""replaces":{"room":"den","seq":7}"#
    for digest in [DigestSubject(newest: later), DigestSubject(newest: later, count: 2)] {
      let push = PhonePush(id: id, to: bob, topic: "", .change(digest, .current))
      #expect(push.identity == later.replaces)
      // A read of the replaced message is no read of this one.
      #expect(push.messages == [subject.message])
      let json = JSON(reading: try Push(push).payload)
      #expect(text(try Push(push)).contains(replaces))
      #expect((json?["communication"] ?? json?["push"])?["replaces"]?["room"]?.text == "den")
    }
    later.replaces = later.message
    #expect(try !text(push(.alert(DigestSubject(newest: later)))).contains("replaces"))
    #expect(PhonePush(id: id, to: bob, topic: "", .alert(DigestSubject(newest: subject))).identity == subject.message)
  }

  @Test func `a notification without a room has no name for a removal`() {
    var note = subject
    note.room.id = .notifications(of: bob)
    let push = PhonePush(id: id, to: bob, topic: "", .alert(DigestSubject(newest: note)))
    #expect(push.identity == nil && push.messages.isEmpty)
  }

  @Test func `the relay's own text needs no preview`() throws {
    var hidden = subject
    hidden.hasPreview = false
    hidden.kind = .call
    hidden.app.texts = PushTexts([.missedCall: "Verpasst", .incomingCall: "Anruf"])
    let missed = PhonePush(id: id, to: bob, topic: "", .change(DigestSubject(newest: hidden), .missed))
    #expect(text(try Push(missed)).contains(#""body":"Verpasst""#))
    #expect(missed.plainText == "Verpasst")
  }

  @Test func `a service without translations gets the operator's texts`() {
    var own = subject
    own.style.body = .localized(key: "KEY", arguments: [])
    func plain(_ content: PhonePush.Content) -> String? { PhonePush(id: id, to: bob, topic: "", content).plainText }
    #expect(plain(.alert(DigestSubject(newest: own))) == "New message")
    own.app.texts = PushTexts([.newMessage: "Neu", .incomingCall: "Anruf"])
    #expect(plain(.alert(DigestSubject(newest: own))) == "Neu")
    own.kind = .call
    #expect(plain(.alert(DigestSubject(newest: own))) == "Anruf")
    #expect(plain(.ring(own, for: .seconds(45))) == "Anruf")
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
      .alert(DigestSubject(newest: subject, others: [other])), .ring(subject, for: .seconds(45)),
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
