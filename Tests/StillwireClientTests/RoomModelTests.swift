// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import RelayProtocol
import StillwireClient
import StillwireUI
import Testing

/// The observable models, with a real relay.
@MainActor @Suite(.timeLimit(.minutes(15))) struct RoomModelTests {
  /// Waits until the model meets the condition. The suite has a timeout.
  private func eventually(_ isMet: () -> Bool) async throws {
    while !isMet() { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test func `a room shows its history, new messages, people and their Focus`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        try await withClient(of: "bob", at: address) { bob in
          try await bob.room("tea").join()
          try await bob.room("tea").send(text: "before")
          try await self.follow(ann, with: bob)
        }
      }
    }
  }

  private func follow(_ ann: Stillwire, with bob: Stillwire) async throws {
    let model = RoomModel(ann, room: "tea", me: "ann")
    let running = Task { await model.run() }
    try await eventually { model.timeline.messages.map(\.text) == ["before"] }
    #expect(model.connection == .open && model.error == nil)
    try await bob.room("tea").send(text: "after")
    try await eventually { model.timeline.messages.map(\.text) == ["before", "after"] }
    try await bob.room("tea").edit(2, body: ["text": "edited"])
    try await eventually { model.timeline.messages.map(\.text) == ["before", "edited"] }
    let reactions = try await bob.room("tea").react(1, key: "👍")
    #expect(reactions == [Reaction(key: "👍", count: 1, users: ["bob"])])
    try await eventually { model.timeline.messages[0].reactions == reactions }
    #expect(try await bob.room("tea").unreact(1, key: "👍") == [])
    try await eventually { model.timeline.messages[0].reactions == [] }
    // The relay sends this user no events about the user's own changes.
    #expect(await model.react(1, key: "🍵"))
    #expect(model.timeline.messages[0].reactions == [Reaction(key: "🍵", count: 1, users: ["ann"])])
    #expect(await model.unreact(1, key: "🍵"))
    #expect(model.timeline.messages[0].reactions == [])

    try await bob.report(FocusReport(device: "phone", isFocused: true, source: .manual))
    try await eventually { model.silenced?.names == ["bob"] }
    #expect(await model.send("hello"))
    let offer = try #require(model.offer)
    #expect(offer.users == ["bob"] && offer.seq == 3 && offer.isOpen)
    await model.notifyAnyway()
    #expect(model.offer?.step == .notified(1))
    #expect(await model.edit(3, text: "bye"))
    #expect(model.timeline.messages[2].text == "bye")
    #expect(await !model.edit(99, text: "?"))
    #expect(model.error?.code == .refused(.notFound))
    #expect(await model.delete(3))
    #expect(model.timeline.messages[2].isDeleted && model.error == nil)
    await model.markRead()
    running.cancel()
    await running.value
  }

  @Test func `earlier messages are loaded page by page`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        try await ann.room("tea").join()
        for number in 1...5 { try await ann.room("tea").send(text: "\(number)") }
        try await self.page(ann)
      }
    }
  }

  private func page(_ ann: Stillwire) async throws {
    let model = RoomModel(ann, room: "tea", me: "ann", page: 2)
    // The room is already joined, so that no event announces it.
    let running = Task { await model.run() }
    try await eventually { model.timeline.messages.map(\.seq) == [4, 5] }
    await model.loadEarlier()
    #expect(model.timeline.messages.map(\.seq) == [2, 3, 4, 5])
    await model.loadEarlier()
    #expect(model.timeline.messages.map(\.seq) == [1, 2, 3, 4, 5])
    #expect(!model.timeline.hasEarlier)
    running.cancel()
    await running.value
  }

  @Test func `an action without a connection fails, and the error is shown`() async throws {
    let model = RoomModel(Stillwire(.init(RelayAddress("http://127.0.0.1:9")!) { _ in .open("ann") }), room: "tea")
    await model.loadEarlier()
    #expect(model.error == nil)
    let running = Task { await model.send("hello") }
    running.cancel()
    #expect(await !running.value)
    #expect(model.error?.code == .closed)
  }

  @Test func `the switch shares the Focus and stops sharing it`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        try await ann.room("tea").join()
        try await self.share(ann)
      }
    }
  }

  private func share(_ ann: Stillwire) async throws {
    var count = 0
    let sharing = FocusSharing(ann) { count += 1 }
    await sharing.load()
    #expect(sharing.isOn && sharing.choice.isKnown)
    await sharing.share(false)
    #expect(!sharing.isOn && sharing.choice.error == nil && count == 0)
    #expect(try await ann.request("preferences")["shareFocus"] == "none")
    sharing.isOn = true
    try await eventually { sharing.choice.stored == true && count == 1 }
    #expect(try await ann.request("preferences")["shareFocus"] == "rooms")
  }
}
