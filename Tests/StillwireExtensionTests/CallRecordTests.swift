// SPDX-License-Identifier: Apache-2.0
// Tests the parser of calls, the requests about them, and the decision to end the ringing of a phone.
import Foundation
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct CallRecordTests {
  /// A call as the relay writes it, see `Replies.call`.
  private static func call(_ state: String, more: String = "") -> String {
    """
    {"type":"call","room":"tea","seq":7,"from":"ann","media":"video","state":"\(state)","time":1700000000000,\
    "ringUntil":1700000045000\(more)}
    """
  }

  private func json(_ text: String) throws -> JSON { try #require(JSON(reading: text.utf8)) }

  @Test func `a reply has the call and its users`() throws {
    let users = """
      ,"ended":1700000050000,"users":[{"user":"bob","state":"answered","device":"phone"},{"user":"cleo",\
      "state":"declined"},{"user":"dan","state":"new"},{}]
      """
    let call = try #require(CallRecord(json(Self.call("ended", more: users))))
    #expect(call.message == MessageReference(room: "tea", seq: 7))
    #expect((call.caller, call.media, call.state) == ("ann", .video, .ended))
    #expect(call.began == Timestamp(rawValue: 1_700_000_000_000))
    #expect(call.ringUntil == Timestamp(rawValue: 1_700_000_045_000))
    #expect(call.ended == Timestamp(rawValue: 1_700_000_050_000))
    #expect(call.parties == ["bob": Call.Party(.answered, on: "phone"), "cleo": Call.Party(.declined)])
  }

  @Test(arguments: ["room", "seq", "from", "media", "state", "time", "ringUntil"])
  func `a call without a field is not a call`(_ field: String) throws {
    guard case .object(var members) = try json(Self.call("ringing")) else { return }
    #expect(CallRecord(.object(members)) != nil)
    members[field] = .bool(true)
    #expect(CallRecord(.object(members)) == nil)
    members[field] = .string("")
    #expect(CallRecord(.object(members)) == nil)
    members[field] = nil
    #expect(CallRecord(.object(members)) == nil)
  }

  @Test func `an event has the cause, the user and the device`() throws {
    let more = #","event":"answer","user":"bob","device":"phone","muted":true"#
    let event = try #require(CallEvent(json(Self.call("answered", more: more))))
    #expect((event.cause, event.user, event.device, event.isMuted) == (.answer, "bob", "phone", true))
    #expect(event.call.state == .answered && event.call.parties.isEmpty)
    #expect(CallEvent(try json(Self.call("answered"))) == nil)
    let other = Self.call("answered", more: more).replacing(#""type":"call""#, with: #""type":"message""#)
    #expect(CallEvent(try json(other)) == nil)
  }

  /// The event, its user, the state of the call after it, and the end on a phone of Bob: while it rings, and after Bob
  /// has accepted the call there.
  static let ends: [(cause: String, user: String?, state: String, ringing: IncomingCall.End?, IncomingCall.End?)] = [
    ("ring", "ann", "ringing", nil, nil),
    ("answer", "bob", "answered", .answeredElsewhere, nil),
    ("answer", "cleo", "answered", nil, nil),
    ("decline", "bob", "ringing", .declinedElsewhere, nil),
    ("decline", "bob", "declined", .declinedElsewhere, .declinedElsewhere),
    ("decline", "cleo", "ringing", nil, nil),
    ("decline", "cleo", "declined", .remoteEnded, .remoteEnded),
    ("hangup", "ann", "cancelled", .remoteEnded, .remoteEnded),
    ("hangup", "ann", "ended", .remoteEnded, .remoteEnded),
    ("hangup", "ann", "answered", nil, nil),
    ("hangup", "bob", "answered", .remoteEnded, .remoteEnded),
    ("expire", nil, "missed", .unanswered, .unanswered),
    ("expire", nil, "ended", .remoteEnded, .remoteEnded),
    ("delete", nil, "cancelled", .remoteEnded, .remoteEnded),
  ]

  @Test(arguments: ends.indices) func `an event ends the ringing of a phone`(_ index: Int) throws {
    let (cause, user, state, ringing, accepted) = Self.ends[index]
    let more = #","event":"\#(cause)""# + (user.map { #","user":"\#($0)""# } ?? "")
    let event = try #require(CallEvent(json(Self.call(state, more: more))))
    let call = try #require(IncomingCall(json(Self.push(seq: 7))))
    #expect(call.end(after: event, of: "bob", isAccepted: false) == ringing)
    #expect(call.end(after: event, of: "bob", isAccepted: true) == accepted)
    let other = try #require(IncomingCall(json(Self.push(seq: 8))))
    #expect(other.end(after: event, of: "bob", isAccepted: false) == nil)
  }

  private static func push(seq: Int) -> String {
    """
    {"call":"DD03C85B-FE98-48F9-98B0-2DA51FBEEED8","ringUntil":1700000045000,"ringFor":45000,"data":{\
    "communication":{"kind":"call","sender":{"id":"ann"},"conversation":{"id":"tea"}},\
    "message":{"room":"tea","seq":\(seq)}}}
    """
  }

  @Test(arguments: ["answer", "decline", "hangup", "read"])
  func `a request about a call names the room, the seq and the device`(_ action: String) async throws {
    let body = Self.call("answered")
    let server = try TestServer(
      "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n", body: Data(body.utf8))
    let api = RelayAPI(try #require(RelayAddress("http://127.0.0.1:\(server.port)")), patience: .seconds(60)) {
      .reportKey("swr_key")
    }
    let message = MessageReference(room: "a|b", seq: 7)
    let call =
      switch action {
      case "answer": try await api.answer(message)
      case "decline": try await api.decline(message, on: "phone")
      case "read": try await api.call(message)
      default: try await api.hangUp(message)
      }
    #expect(call.state == .answered)
    let request = try #require(server.received.first)
    #expect(request.contains("Authorization: Bearer swr_key\r\n"))
    guard action != "read" else { return #expect(request.hasPrefix("GET /v1/rooms/a%7Cb/calls/7 HTTP/1.1\r\n")) }
    #expect(request.hasPrefix("POST /v1/rooms/a%7Cb/calls/7/\(action) HTTP/1.1\r\n"))
    #expect(request.hasSuffix(action == "decline" ? #"{"device":"phone"}"# : "{}"))
  }

  @Test(arguments: [
    (52, String(repeating: "r", count: 52) + "/42/7e6e6f94"), (53, "/bfb38f46b6c8b776ff2c8c0d4cdf6605/42/7e6e6f94"),
  ])
  func `the identifier of a message has at most 64 bytes`(_ length: Int, _ identifier: String) throws {
    let room = try #require(RoomID(rawValue: String(repeating: "r", count: length)))
    let payload = CommunicationPayload(
      sender: PayloadPerson(id: "ann", name: "Ann"), conversation: PayloadConversation(id: "tea"),
      message: MessageReference(room: room, seq: 42), recipient: "bob")
    #expect(payload.requestIdentifier == identifier)
  }

  @Test func `only a payload with a message and a recipient has an identifier`() {
    var payload = CommunicationPayload(
      sender: PayloadPerson(id: "ann", name: "Ann"), conversation: PayloadConversation(id: "tea"), recipient: "bob")
    #expect(payload.requestIdentifier == nil)
    payload.message = MessageReference(room: "tea", seq: 42)
    #expect(payload.requestIdentifier == "tea/42/7e6e6f94")
    payload.replaces = MessageReference(room: "den", seq: 9)
    #expect(payload.requestIdentifier == "den/9/7e6e6f94")
    payload.recipient = nil
    #expect(payload.requestIdentifier == nil)
  }
}
