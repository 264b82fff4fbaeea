// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayJSON
import RelayProtocol
import StillwireExtension
import Testing

@testable import RelayDelivery

/// The VoIP push of a call: its payload, its headers, and the order in which parts are left out.
@Suite struct CallPushTests {
  private var subject = PayloadSubject(
    notification: "0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", recipient: UserID(unchecked: "bob"),
    sender: User(id: ann, name: "Ann"),
    room: PayloadRoom(id: RoomID(unchecked: "team"), recipientCount: 1), epoch: "e1", seq: 42, kind: .call,
    text: "Hello?",
    badge: 3,
    expires: .at(45_000), app: PayloadApp(topic: "org.example.chat"))

  @Test mutating func `a VoIP push contains the call that the app reports`() throws {
    subject.style.data = Array(#"{"video":true}"#.utf8)
    let push = try Push(ringing: subject, for: .milliseconds(44_500))
    #expect(
      String(decoding: push.payload, as: UTF8.self)
        == #"""
        {"call":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d","ringUntil":1700000045000,"ringFor":44500,"data":{
        "communication":{"kind":"call","sender":{"id":"ann","name":"Ann","handle":"ann"},
        "conversation":{"id":"team","group":false},
        "mentionsMe":false,"replyToMe":false,"notifyAnyway":false,
        "recipient":"bob","notification":"0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d"},
        "message":{"room":"team","epoch":"e1","seq":42},"video":true}}
        """#.replacing("\n", with: ""))
    #expect(
      push.fields.map { "\($0.name): \($0.value)" } == [
        "apns-id: 0190b5d2-6f0a-7c3e-8a52-1d2f3a4b5c6d", "apns-push-type: voip", "apns-priority: 10",
        "apns-expiration: 0", "apns-topic: org.example.chat.voip",
      ])
    #expect(PushLint.check(push.payload, headers: push.fields).findings == [])
  }

  @Test mutating func `a long name or picture of the caller does not stop a call`() throws {
    subject.sender.avatar = "https://example.org/" + String(repeating: "a", count: 6_000)
    #expect(try Push(ringing: subject, for: .seconds(45)).payload.count < 1_000)
    subject.style.data = Array("{\"a\":\"\(String(repeating: "x", count: 6_000))\"}".utf8)
    let error = #expect(throws: PayloadError.self) { try Push(ringing: subject, for: .seconds(45)) }
    #expect(error?.maxSize == Push.maxVoIPPayload)
  }

  @Test(arguments: ["team", String(repeating: "r", count: 200)])
  mutating func `the phone's own notification about a call has the collapse id of the relay's pushes`(
    _ room: String
  ) throws {
    subject.room.id = RoomID(unchecked: room)
    let (voip, alert) = (try Push(ringing: subject, for: .seconds(45)), try Push(subject))
    let identifier = alert.headers.collapseID
    #expect(voip.headers.collapseID == identifier)
    #expect(IncomingCall(reading: voip.payload)?.payload.requestIdentifier == identifier)
    #expect(CommunicationPayload(reading: alert.payload)?.requestIdentifier == identifier)
  }
}
