// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Testing

@testable import StillwireClient
@testable import StillwireExtension

/// Calls between two users, with a real relay: over the socket, and over HTTP as a phone that a push has woken.
@Suite(.timeLimit(.minutes(15))) struct CallLiveTests {
  /// The next event about a call.
  private func next(_ events: Subscription<Event>) async throws -> CallEvent {
    for await event in events {
      if case .frame(let frame) = event, let change = CallEvent(frame.members) { return change }
    }
    throw StillwireError.closed
  }

  @Test func `one device answers a call, the second one gets a conflict, and the page has the call`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        try await withClient(of: "bob", at: address) { bob in
          try await withClient(of: "bob", at: address, { $0.device = "tablet" }) { tablet in
            try await self.call(ann, bob, tablet)
          }
        }
      }
    }
  }

  private func call(_ ann: Stillwire, _ bob: Stillwire, _ tablet: Stillwire) async throws {
    for client in [ann, bob, tablet] { try await client.room("tea").join() }
    let (annsEvents, bobsEvents, tabletsEvents) = (ann.events(), bob.events(), tablet.events())
    let rung = try await ann.room("tea").ring(media: .video)
    #expect((rung.caller, rung.media, rung.state) == ("ann", .video, .ringing))
    for events in [annsEvents, bobsEvents, tabletsEvents] {
      let event = try await next(events)
      #expect(event.cause == .ring && event.call.message == rung.message && !event.isMuted)
    }
    let answered = try await bob.room("tea").answer(rung.message.seq)
    #expect(answered.state == .answered && answered.parties == ["bob": Call.Party(.answered, on: "phone")])
    for events in [annsEvents, tabletsEvents] {
      let event = try await next(events)
      #expect((event.cause, event.user, event.device) == (.answer, "bob", "phone"))
    }
    let error = await #expect(throws: StillwireError.self) { try await tablet.room("tea").answer(rung.message.seq) }
    #expect(error?.code == .refused(.conflict))
    let late = await #expect(throws: StillwireError.self) { try await tablet.room("tea").hangUp(rung.message.seq) }
    #expect(late?.code == .refused(.conflict))
    #expect(try await ann.room("tea").call(rung.message.seq).state == .answered)
    let ended = try await tablet.room("tea").hangUp(rung.message.seq, device: "phone")
    #expect(ended.state == .ended && ended.ended != nil)
    let event = try await next(tabletsEvents)
    #expect((event.cause, event.call.state) == (.hangUp, .ended))

    let second = try await ann.room("tea").ring()
    #expect(try await tablet.room("tea").decline(second.message.seq).state == .declined)
    let page = try await bob.room("tea").calls(limit: 1)
    #expect(page.calls.map(\.message) == [second.message] && page.more)
    let last = try await bob.room("tea").calls(before: second.message.seq)
    #expect(last.calls.map(\.message) == [rung.message] && !last.more)
  }

  @Test func `a phone answers, hangs up and declines with its report key`() async throws {
    try await LiveRelay().serve { address in
      let bob = RelayAPI(address, patience: patience) { .open("bob") }
      let registered = try await bob.send(
        "PUT", "/v1/users/bob/devices/phone", Array(#"{"platform":"simulator","token":"bobs-phone"}"#.utf8))
      let key = try #require(registered["reportKey"]?.text)
      let phone = RelayAPI(address, patience: patience) { .reportKey(key) }
      try await withClient(of: "ann", at: address) { ann in
        let events = ann.events()
        try await ann.room("tea").join()
        try await bob.send("PUT", "/v1/rooms/tea/members/bob", Array("{}".utf8))
        let rung = try await ann.room("tea").ring()
        for _ in 0..<2 { #expect(try await phone.answer(rung.message).state == .answered) }
        let causes = [try await next(events), try await next(events)]
        #expect(causes.map(\.cause) == [.ring, .answer] && causes.last?.device == "phone")
        let error = await #expect(throws: StillwireError.self) { try await bob.answer(rung.message, on: "tablet") }
        #expect(error?.code == .refused(.conflict))
        // A phone that has lost the reply to its answer hangs up. Another device holds the call.
        let late = await #expect(throws: StillwireError.self) { try await bob.hangUp(rung.message, on: "tablet") }
        #expect(late?.code == .refused(.conflict))
        let read = try await phone.call(rung.message)
        #expect(read.state == .answered && read.parties == ["bob": Call.Party(.answered, on: "phone")])
        #expect(try await phone.hangUp(rung.message).state == .ended)
        let second = try await ann.room("tea").ring()
        #expect(try await phone.decline(second.message).state == .declined)
      }
    }
  }
}
