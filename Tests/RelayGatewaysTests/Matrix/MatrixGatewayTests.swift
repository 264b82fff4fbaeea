// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayDelivery
@testable import RelayGateways

@Suite struct MatrixGatewayTests {
  private static let url = "https://push.example.org/_matrix/push/v1/notify"

  private func notification(_ push: PhonePush) throws -> [String: Any] {
    var device = Device(id: .default, app: "org.example.chat", platform: .http, token: "key")
    device.registered = Timestamp(rawValue: 1_700_000_000_999)
    let json = Data(MatrixNotification.json(of: push, to: device, topic: "org.example.chat.android"))
    let whole = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(Set(whole.keys) == ["notification"])
    return try #require(whole["notification"] as? [String: Any])
  }

  @Test func `a push is converted to Matrix's format`() throws {
    let expected: [String: Any] = [
      "event_id": "$tea/7", "room_id": "tea", "room_name": "Tea", "sender": "ann", "sender_display_name": "Ann",
      "prio": "high", "type": "m.room.message", "counts": ["unread": 3],
      "content": ["msgtype": "m.text", "body": "hi"],
      "devices": [
        [
          "app_id": "org.example.chat.android", "pushkey": "key", "pushkey_ts": 1_700_000_000,
          "tweaks": ["sound": "default", "highlight": true],
        ]
      ],
    ]
    #expect(try notification(.message(7)) as NSDictionary == expected as NSDictionary)
  }

  @Test func `a message without a text has the relay's own text`() throws {
    let json = try notification(.message(text: nil))
    #expect((json["content"] as? [String: String])?["body"] == "New message")
  }

  @Test(arguments: [
    (MessageKind.message, EntryText.current, "m.room.message", ["body": "hi"]),
    (.message, .deleted, "m.room.redaction", ["redacts": "$tea/7", "body": "Message deleted"]),
    (.call, .missed, "m.call.hangup", ["reason": "invite_timeout", "body": "Missed call", "call_id": "$tea/7"]),
    (.call, .answered, "m.call.hangup", ["reason": "answered_elsewhere", "body": "Answered on another device"]),
    (.call, .declined, "m.call.reject", ["body": "Declined on another device"]),
  ])
  func `a change has the event of its message, and says what has changed`(
    _ kind: MessageKind, _ text: EntryText, _ type: String, _ expected: [String: String]
  ) throws {
    let json = try notification(PhonePush.message(7, kind: kind).changed(to: text))
    #expect(json["event_id"] as? String == "$tea/7")
    #expect(json["type"] as? String == type)
    #expect(json["prio"] as? String == "low")
    let content = try #require(json["content"] as? [String: Any])
    for (key, value) in expected { #expect(content[key] as? String == value) }
    let relation = content["m.relates_to"] as? [String: String]
    #expect(relation == (text == .current ? ["rel_type": "m.replace", "event_id": "$tea/7"] : nil))
  }

  @Test func `a call is an invitation`() throws {
    let json = try notification(.message(7, text: nil, kind: .call))
    #expect(json["type"] as? String == "m.call.invite")
    #expect((json["content"] as? [String: String])?["body"] == "Incoming call")
  }

  @Test func `an invitation is the membership event of Matrix`() throws {
    var style = PushStyle()
    style.badge = .unchanged
    style.isCommunication = false
    let (bob, books) = (UserID(unchecked: "bob"), RoomID(unchecked: "books"))
    var subject = PayloadSubject(
      notification: uuid(7), recipient: bob, sender: User(id: UserID(unchecked: "ann"), name: "Ann"),
      room: PayloadRoom(id: .notifications(of: bob), recipientCount: 1), epoch: "e", seq: 7, kind: .invitation,
      text: nil, style: style, badge: 3, expires: Timestamp(rawValue: 1_900_000_000_000),
      app: PayloadApp(topic: "org.example.chat"), replaces: MessageReference(room: books, seq: 0))
    subject.invitation = PayloadInvitation(room: books, kind: .group, title: "Books")
    let json = try notification(
      PhonePush(
        id: uuid(7), to: bob, topic: "org.example.chat", .alert(DigestSubject(newest: subject)),
        keptUntil: subject.expires, expires: subject.expires))
    #expect(json["type"] as? String == "m.room.member" && json["user_is_target"] as? Bool == true)
    #expect(json["event_id"] as? String == "$books/0" && json["counts"] == nil)
    #expect(json["room_id"] as? String == "books" && json["room_name"] as? String == "Books")
    let content = ["msgtype": "m.text", "membership": "invite", "body": "Ann invites you to Books"]
    #expect(json["content"] as? [String: String] == content)
  }

  @Test func `a read sends the counts and the read marks`() throws {
    var removals = Removals()
    removals.add(MessageReference(room: RoomID(unchecked: "tea"), seq: 7), isRead: true)
    let json = try notification(
      PhonePush(id: uuid(1), to: UserID(unchecked: "bob"), topic: "t", .badge(0), removals: removals))
    #expect(json["counts"] as? [String: Int] == ["unread": 0])
    #expect(json["event_id"] == nil && json["prio"] as? String == "low")
    #expect((json["content"] as? [String: [String]])?["read"] == ["$tea/7"])
  }

  @Test func `an alert has the removals, too`() throws {
    var push = PhonePush.message(7)
    push.removals.add(MessageReference(room: RoomID(unchecked: "den"), seq: 3), isRead: false)
    let content = try #require(notification(push)["content"] as? [String: Any])
    #expect(content["removed"] as? [String] == ["$den/3"])
    #expect(content["read"] == nil && content["body"] as? String == "hi")
  }

  @Test func `a notification without a room has the id of its push`() throws {
    let json = try notification(.message(7, in: "/user/bob"))
    #expect(json["event_id"] as? String == "$\(uuid(7))" && json["room_id"] == nil)
  }

  @Test(arguments: [
    (200, #"{"rejected":[]}"#, PushOutcome.sent(.accepted)), (200, "{}", .sent(.accepted)),
    (200, #"{"rejected":["other"]}"#, .sent(.accepted)),
    (200, #"{"rejected":["other","key"]}"#, .forgetDevice(.unregistered)),
    (200, "<html>", .retry(after: nil, .other, isUnknown: true)),
    (200, #"{"rejected":"key"}"#, .retry(after: nil, .other, isUnknown: true)),
    (200, "", .retry(after: nil, .other, isUnknown: true)), (302, "", .retry(after: nil, .redirected)),
    (400, "", .dead(.other)), (410, "", .dead(.other)),
    (408, "", .retry(after: nil, .timeout, isUnknown: true)),
    (413, "", .tooLarge(.payloadTooLarge)), (429, "", .retry(after: nil, .tooManyRequests)),
    (500, "", .retry(after: nil, .internalServerError, isUnknown: true)),
    (502, "", .retry(after: nil, .internalServerError, isUnknown: true)),
    (503, "", .retry(after: nil, .serviceUnavailable)),
  ])
  func `each answer has one outcome`(_ status: Int, _ body: String, _ outcome: PushOutcome) {
    #expect(PushOutcome(HTTPAnswer(status: status, body: Array(body.utf8)), pushkey: "key") == outcome)
  }

  @Test func `some answers concern the app, not one push`() {
    let refusals = [401: GatewayReason.forbidden, 403: .forbidden, 404: .badPath, 405: .badPath]
    for status in 200..<600 { #expect(HTTPAnswer(status: status).refusal == refusals[status]) }
  }

  @Test func `the outcome uses Retry-After`() {
    #expect(
      PushOutcome(HTTPAnswer(status: 429, retryAfter: .seconds(9)), pushkey: "key")
        == .retry(after: .seconds(9), .tooManyRequests))
  }

  /// RFC 4231, section 4.3.
  @Test func `a signature equals the example of RFC 4231`() throws {
    let endpoint = try #require(HTTPEndpoint(Self.url))
    let app = MatrixApp(name: "a", topics: ["a"], endpoint: endpoint, secret: Array("Jefe".utf8))
    #expect(
      app.signature(of: Array("what do ya want for nothing?".utf8))
        == "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(MatrixApp(name: "a", topics: ["a"], endpoint: endpoint).signature(of: []) == nil)
  }

  @Test(arguments: [
    (url, "https://push.example.org", "/_matrix/push/v1/notify"),
    ("http://sygnal:5000/n?a=b", "http://sygnal:5000", "/n?a=b"),
    ("http://127.0.0.1", "http://127.0.0.1", "/"), ("http://[::1]:5000/", "http://[::1]:5000", "/"),
    ("HTTPS://Push.Example.org:443/x%20y", "https://push.example.org", "/x%20y"),
  ])
  func `the URL of a gateway is parsed`(_ url: String, _ origin: String, _ path: String) throws {
    let endpoint = try #require(HTTPEndpoint(url))
    #expect(endpoint.destination.origin == origin && endpoint.path == path)
  }

  @Test(arguments: [
    "", "push.example.org", "ftp://a/", "https://", "https:///x", "https://u:p@a/", "https://a/#b", "https://a:0/",
    "https://a b/",
  ])
  func `an invalid URL is refused`(_ url: String) { #expect(HTTPEndpoint(url) == nil) }
}
