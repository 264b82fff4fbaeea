// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The pushes of invitations.
@Suite struct InvitationPayloadTests {
  private static let books = RoomID(unchecked: "books")

  private static func subject(_ invitation: PayloadInvitation) -> PayloadSubject {
    let bob = UserID(unchecked: "bob")
    var style = PushStyle()
    style.badge = .unchanged
    style.isCommunication = false
    var subject = PayloadSubject(
      notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: bob,
      sender: User(id: UserID(unchecked: "ann"), name: "Ann"),
      room: PayloadRoom(id: .notifications(of: bob), recipientCount: 1), epoch: "e1", seq: 42, kind: .invitation,
      text: nil, style: style, badge: 3, expires: .at(45_000), app: PayloadApp(topic: "org.example.chat"),
      replaces: MessageReference(room: invitation.room, seq: 0))
    subject.invitation = invitation
    return subject
  }

  @Test func `the push of an invitation names the room and no message`() throws {
    let push = try Push(Self.subject(PayloadInvitation(room: Self.books, kind: .group, title: "Books")))
    #expect(
      String(decoding: push.payload, as: UTF8.self)
        == #"""
        {"aps":{"alert":{"title":"Ann","loc-key":"%@ invites you to %@","loc-args":["Ann","Books"]},
        "sound":"default","mutable-content":1,"interruption-level":"active"},
        "push":{"recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d",
        "replaces":{"room":"books","seq":0}},
        "invitation":{"room":"books","kind":"group","title":"Books"}}
        """#.replacing("\n", with: ""))
    #expect(PushLint.check(push.payload, headers: push.fields).findings == [])
  }

  @Test(
    arguments: [
      (.group, "Books", .localized(key: PushTextKey.invitationToRoom.rawValue, arguments: ["Ann", "Books"])),
      (.group, "", .localized(key: PushTextKey.invitationToGroup.rawValue, arguments: ["Ann"])),
      (.group, nil, .localized(key: PushTextKey.invitationToGroup.rawValue, arguments: ["Ann"])),
      (.direct, nil, .localized(key: PushTextKey.invitationToWrite.rawValue, arguments: ["Ann"])),
    ] as [(RoomKind, String?, PushText)])
  func `the text depends on the kind and the title of the room`(kind: RoomKind, title: String?, text: PushText) {
    #expect(Self.subject(PayloadInvitation(room: Self.books, kind: kind, title: title)).body == text)
  }

  @Test func `the operator's texts replace the key`() throws {
    var subject = Self.subject(PayloadInvitation(room: Self.books, kind: .group, title: "Books"))
    subject.app.texts = PushTexts([.invitationToRoom: "%@ lädt dich in %@ ein"])
    #expect(subject.body == .text("Ann lädt dich in Books ein"))
  }

  @Test func `a payload that is too large loses the title of the room`() throws {
    let title = String(repeating: "b", count: 256)
    let subject = Self.subject(PayloadInvitation(room: Self.books, kind: .group, title: title))
    let push = try Push(subject, maxSize: 500)
    let text = String(decoding: push.payload, as: UTF8.self)
    #expect(text.contains(#""loc-key":"%@ invites you to a group","loc-args":["ann"]"#))
    #expect(text.contains(#""invitation":{"room":"books","kind":"group"}"#))
  }

  @Test func `the phone knows the notification by the room, and a message of the room is another one`() throws {
    let subject = Self.subject(PayloadInvitation(room: Self.books, kind: .group))
    #expect(subject.identity == MessageReference(room: Self.books, seq: 0))
    var other = subject
    other.seq = 43
    #expect(other.collapseID == subject.collapseID)
    other.replaces = MessageReference(room: Self.books, seq: 1)
    #expect(other.collapseID != subject.collapseID)
    // A notification of a backend has no identity.
    other.replaces = nil
    #expect(other.identity == nil)
  }
}
