// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient

/// The list of rooms of an app.
@Suite struct RoomListTests {
  private func json(_ text: String) -> JSON {
    guard let value = JSON(reading: Array(text.utf8)) else { preconditionFailure(text) }
    return value
  }

  private static let full = """
    {"room":"tea","kind":"direct","title":"Tea","avatar":"https://example.org/t.png",
    "members":{"count":2,"other":{"user":"bob","name":"Bob"}},
    "lastMessage":{"seq":12,"time":5,"from":"bob","name":"Bob","preview":"Kettle is on"},
    "unread":2,"mentions":1,"muted":true,"read":10}
    """

  @Test func `an entry has all fields`() throws {
    let entry = try #require(RoomEntry(json(Self.full)))
    #expect(entry.room == "tea" && entry.kind == .direct && entry.title == "Tea")
    #expect(entry.avatar == "https://example.org/t.png" && entry.memberCount == 2)
    #expect(entry.other == "bob" && entry.otherName == "Bob")
    #expect(entry.lastMessage?.seq == 12 && entry.lastMessage?.time == Timestamp(rawValue: 5))
    #expect(entry.lastMessage?.from == "bob" && entry.lastMessage?.preview == "Kettle is on")
    #expect(entry.lastMessage?.isDeleted == false)
    #expect(entry.unread == 2 && entry.mentions == 1 && entry.isMuted && entry.read == 10)
  }

  @Test(arguments: ["{}", #"{"room":"tea"}"#, #"{"room":"tea","kind":"crowd","read":1}"#, "1"])
  func `other values are no entries`(_ text: String) { #expect(RoomEntry(json(text)) == nil) }

  @Test func `a page has its entries and its places`() {
    let page = RoomPage(json(#"{"rooms":[\#(Self.full),{}],"position":"0.7","next":"0.7.5","reset":true}"#))
    #expect(page.rooms.map(\.room) == ["tea"])
    #expect(page.position == "0.7" && page.next == "0.7.5" && page.isReset)
    let last = RoomPage(json(#"{"rooms":[],"position":"0.9"}"#))
    #expect(last.rooms.isEmpty && last.next == nil && !last.isReset)
  }

  private func frame(_ text: String) throws -> Frame { try #require(Frame(reading: Array(text.utf8))) }

  @Test func `the next hello continues at the newest position`() throws {
    var place = InboxPlace()
    #expect(place.hello(.bool(true)) == .bool(true))
    #expect(try place.welcomed(frame(#"{"type":"welcome"}"#)) == nil)
    #expect(try place.welcomed(frame(#"{"type":"welcome","inbox":{"position":"0.7"}}"#)) == nil)
    #expect(place.hello(.bool(true)) == ["since": "0.7"])
    #expect(place.hello(["preview": "none", "since": "0.1"]) == ["preview": "none", "since": "0.7"])
    #expect(place.hello(nil) == nil && place.hello(.bool(false)) == .bool(false))
    place.received(try frame(#"{"type":"inbox","event":"removed","room":"tea","position":"0.9"}"#))
    #expect(place.hello(.bool(true)) == ["since": "0.9"])
    let reset = try place.welcomed(frame(#"{"type":"welcome","inbox":{"position":"1.2","reset":true}}"#))
    #expect(reset?["event"] == "reset" && reset?["position"] == "1.2")
    #expect(place.hello(.bool(true)) == ["since": "1.2"])
  }
}
