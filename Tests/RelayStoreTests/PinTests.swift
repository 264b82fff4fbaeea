// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

private let tea = RoomID(unchecked: "tea")

/// Pinned messages, and their recovery.
@Suite struct PinTests {
  let test: TestStore
  init() async throws { test = try await .withMessages(5) }

  private func pin(_ seq: Int64, by actor: RoomActor = .backend, at time: Int64 = 7) async throws -> Annotated? {
    try await test.write { try $0.messages.pin(room, seq, by: actor, at: .at(time)) }
  }

  private func unpin(_ seq: Int64, by actor: RoomActor = .backend) async throws -> Annotated? {
    try await test.write { try $0.messages.unpin(room, seq, by: actor, at: .at(8)) }
  }

  private func pins() async throws -> [Int64] { try await test.read { try $0.messages.pins(of: room).map(\.seq) } }

  @Test func `a pin is a change of the message, and a second one changes nothing`() async throws {
    #expect(try await pin(2)?.change == 1)
    #expect(try await pin(2, at: 9)?.change == nil)
    #expect(try await pin(4, at: 8)?.change == 2)
    let list = try await test.read { try $0.messages.pins(of: room) }
    #expect(
      list == [
        StoredMessage(seq: 4, from: alice.id, time: TestStore.time, body: Array(#""4""#.utf8), pinned: .at(8)),
        StoredMessage(seq: 2, from: alice.id, time: TestStore.time, body: Array(#""2""#.utf8), pinned: .at(7)),
      ])
    #expect(try await test.read { try $0.messages.message(room, 2)?.pinned } == .at(7))
    #expect(try await test.read { try $0.messages.message(room, 3)?.pinned } == nil)
    #expect(try await unpin(2)?.change == 3)
    #expect(try await unpin(2)?.change == nil)
    #expect(try await pins() == [4])
    let changes = try await test.read { try $0.messages.changes(room, upTo: 5, after: 0, limit: 9, maxBytes: 99) }
    #expect(
      changes == [
        ChangedMessage(
          seq: 4, change: 2, time: .at(8), body: nil,
          annotation: Annotation(.pinned, Array("\(Timestamp.at(8).rawValue)".utf8))),
        ChangedMessage(seq: 2, change: 3, time: .at(8), body: nil, annotation: Annotation(.pinned, nil)),
      ])
  }

  @Test func `the last pin is the newest one, also if the clock was set back before it`() async throws {
    _ = try await pin(2, at: 3_600_000)
    for seq in [4, 3] as [Int64] { _ = try await pin(seq) }
    #expect(try await pins() == [3, 4, 2])
  }

  @Test func `only messages of the history are pinned, and a deletion ends the pin`() async throws {
    #expect(try await pin(6)?.newest == nil)
    _ = try await pin(2)
    _ = try await pin(1)
    try await test.write { _ = try $0.messages.delete(room, 2) }
    #expect(try await pin(2)?.newest == nil)
    #expect(try await unpin(2)?.newest == nil)
    #expect(try await pins() == [1])
    try await test.write { transaction in
      try transaction.rooms.advanceCursor(room, to: 5)
      _ = try transaction.messages.trim(room, to: Retention(count: 4), maxDeleted: 9)
    }
    #expect(try await pins() == [])
    #expect(try await test.read { try $0.db.has("SELECT 1 FROM annotations") } == false)
  }

  @Test func `a room has a maximum of pins`() async throws {
    try await test.write { transaction in
      for number in 0..<Pins.maxCount {
        _ = try transaction.messages.append(draft("\(number)"))
        _ = try transaction.messages.pin(room, Int64(6 + number), by: .backend)
      }
    }
    await #expect(throws: StoreError.refused(.tooManyPins)) { try await self.pin(1)?.change }
    #expect(try await pin(6)?.change == nil)
    #expect(try await pins().count == Pins.maxCount)
    _ = try await unpin(6)
    #expect(try await pin(1)?.change != nil)
    // The pins of messages that have left the history do not count: here that of message 1.
    await #expect(throws: StoreError.refused(.tooManyPins)) { try await self.pin(2)?.change }
    let pinned = try await test.write { try $0.messages.pin(room, 6, by: .backend, kept: Pins.maxCount) }
    #expect(pinned?.change != nil)
  }

  @Test func `moderators pin messages of a group, and both people those of a direct room`() async throws {
    let group = RoomDraft(room: tea, epoch: "e", details: RoomDetails(), creator: alice, members: [bob.id])
    let pair = RoomDraft(
      room: RoomID(unchecked: "pair"), epoch: "e", details: RoomDetails(kind: .direct, join: .invited), creator: alice,
      members: [bob.id])
    try await test.write { transaction in
      _ = try transaction.rooms.make(group)
      _ = try transaction.rooms.makeDirect(pair)
      for room in [tea, pair.room] { _ = try transaction.messages.append(draft(in: room)) }
    }
    func pins(_ room: RoomID, _ user: User, moderates: Bool = false) async throws -> Bool {
      do {
        return try await test.write {
          try $0.messages.pin(room, 1, by: .user(user.id, moderates: moderates))?.change != nil
            && $0.messages.unpin(room, 1, by: .user(user.id, moderates: moderates))?.change != nil
        }
      } catch StoreError.refused(.needs(.moderator)) { return false }
    }
    #expect(try await pins(tea, alice))
    #expect(try await !pins(tea, bob))
    #expect(try await pins(tea, bob, moderates: true))
    #expect(try await pins(pair.room, alice))
    #expect(try await pins(pair.room, bob))
    await #expect(throws: StoreError.notMember) {
      try await self.test.write { try $0.messages.pin(tea, 1, by: .user(UserID(unchecked: "eve"), moderates: true)) }
    }
  }
}
