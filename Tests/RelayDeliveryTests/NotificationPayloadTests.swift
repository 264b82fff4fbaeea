// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayDelivery

/// Notifications: pushes without a message of a room.
@Suite struct NotificationPayloadTests {
  private var subject = PayloadSubject(
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: UserID(unchecked: "bob"),
    sender: User(id: UserID(unchecked: "shop"), name: "Shop"),
    room: PayloadRoom(id: .notifications(of: UserID(unchecked: "bob")), recipientCount: 1), epoch: "e1", seq: 42,
    text: nil, badge: 3,
    expires: .at(45_000), app: PayloadApp(topic: "org.example.chat"))

  @Test mutating func `a notification is a conversation with its sender and names no message`() throws {
    subject.style.body = .text("On its way")
    let push = try Push(subject)
    #expect(
      String(decoding: push.payload, as: UTF8.self)
        == #"""
        {"aps":{"alert":{"title":"Shop","body":"On its way"},"badge":3,"sound":"default","mutable-content":1,
        "interruption-level":"active"},
        "communication":{"kind":"message","sender":{"id":"shop","name":"Shop","handle":"shop"},
        "conversation":{"id":"/from/shop","group":false},
        "mentionsMe":false,"replyToMe":false,"notifyAnyway":false,
        "recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"}}
        """#.replacing("\n", with: ""))
    #expect(PushLint.check(push.payload, headers: push.fields).findings == [])
  }

  @Test func `notifications of different users and rooms have different collapse ids`() {
    let users = [String(repeating: "a", count: 32), String(repeating: "b", count: 128), "user", "u"]
    let roomIDs = users.flatMap { user in
      [RoomID.notifications(of: UserID(unchecked: user)), RoomID(unchecked: user), RoomID(unchecked: "user")]
    }
    let ids = Set(Set(roomIDs).map { CollapseID.of(MessageReference(room: $0, seq: 1), for: UserID(unchecked: "bob")) })
    #expect(ids.count == Set(roomIDs).count)
  }

  @Test func `a silent notification names no message`() throws {
    let message = MessageReference(room: subject.room.id, seq: 42)
    let push = try Push(
      PhonePush(
        id: subject.notification, to: UserID(unchecked: "bob"), topic: "org.example.chat",
        .wake(message, epoch: "e1", data: Array(#"{"order":7}"#.utf8)), keptUntil: .at(9)))
    #expect(
      String(decoding: push.payload, as: UTF8.self)
        == #"{"aps":{"content-available":1},"order":7,"push":{"recipient":"bob"}}"#)
  }
}
