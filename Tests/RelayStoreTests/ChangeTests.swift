// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// The edits and deletions that a client has missed.
@Suite struct ChangeTests {
  let test: TestStore
  init() async throws { test = try await .withMessages(5) }

  private func changes(upTo seq: Int64, limit: Int = 9, maxBytes: Int = 999) async throws -> [ChangedMessage]? {
    try await test.read { try $0.messages.changes(room, upTo: seq, limit: limit, maxBytes: maxBytes) }
  }

  private func changes(
    upTo seq: Int64 = 5, after change: Int64, kept: Int = .max, limit: Int = 9, maxBytes: Int = 999
  ) async throws -> [ChangedMessage]? {
    try await test.read {
      try $0.messages.changes(room, upTo: seq, after: change, kept: kept, limit: limit, maxBytes: maxBytes)
    }
  }

  private func edit(_ seq: Int64, _ text: String = "new", at time: Int64 = 7) async throws {
    try await test.write { _ = try $0.messages.edit(room, seq, at: .at(time), body: Array("\"\(text)\"".utf8)) }
  }

  private func edited(
    _ seq: Int64, _ text: String = "new", change: Int64 = 1, at time: Int64 = 7
  ) -> ChangedMessage {
    ChangedMessage(seq: seq, change: change, time: .at(time), body: Array("\"\(text)\"".utf8))
  }

  @Test func `a client gets a change that it may not have`() async throws {
    try await edit(2)
    // A client that stopped at 4 may have had 2 before the edit. A client that stopped at 1 gets 2 in its new state.
    for seq in [2, 4, 5] as [Int64] { #expect(try await changes(upTo: seq) == [edited(2)]) }
    #expect(try await changes(upTo: 1) == [])
    // A client with a message that is newer than the change has received the change.
    try await test.write { _ = try $0.messages.append(draft("6")) }
    #expect(try await changes(upTo: 6) == [])
    #expect(try await changes(upTo: 5) == [edited(2)])
  }

  @Test func `a client gets only the newest state of a message`() async throws {
    try await edit(3, "first", at: 1)
    try await edit(3, "second", at: 2)
    try await edit(1, at: 3)
    #expect(
      try await changes(upTo: 5) == [edited(1, change: 3, at: 3), edited(3, "second", change: 2, at: 2)])
    try await test.write { _ = try $0.messages.delete(room, 3, at: .at(4)) }
    #expect(
      try await changes(upTo: 5) == [
        edited(1, change: 3, at: 3), ChangedMessage(seq: 3, change: 4, time: .at(4), body: nil),
      ])
  }

  @Test func `no changes are returned if they exceed a maximum`() async throws {
    for seq in 1...3 as ClosedRange<Int64> { try await edit(seq) }
    #expect(try await changes(upTo: 5, limit: 3)?.count == 3)
    #expect(try await changes(upTo: 5, limit: 2) == nil)
    #expect(try await changes(upTo: 5, maxBytes: 15)?.count == 3)
    #expect(try await changes(upTo: 5, maxBytes: 14) == nil)
    #expect(
      try await test.read { try $0.messages.changes(RoomID(unchecked: "none"), upTo: 1, limit: 9, maxBytes: 9) } == nil)
  }

  @Test func `changes of messages outside the history are left out`() async throws {
    try await edit(1)
    try await edit(4)
    let kept = try await test.read { try $0.messages.changes(room, upTo: 5, kept: 2, limit: 9, maxBytes: 99) }
    #expect(kept == [edited(4, change: 2)])
  }

  @Test func `a refused edit is not a change`() async throws {
    try await test.write { _ = try $0.messages.edit(room, 1, by: bob.id, body: Array("1".utf8)) }
    #expect(try await changes(upTo: 5) == [])
  }

  @Test func `a room has the seq of its last change`() async throws {
    #expect(try await test.read { try $0.rooms.snapshot(room)?.changed } == 0)
    try await edit(2)
    #expect(try await test.read { try $0.rooms.snapshot(room)?.changed } == 5)
  }

  // MARK: By number

  @Test func `the changes of a room have consecutive numbers`() async throws {
    #expect(try await test.read { try $0.rooms.snapshot(room)?.change } == 0)
    let numbers = try await test.write { transaction in
      [
        try transaction.messages.edit(room, 2, body: Array("1".utf8))?.change,
        try transaction.messages.delete(room, 2)?.change,
        // A deletion that changes nothing takes no number, and neither does a refused edit.
        try transaction.messages.delete(room, 2)?.change,
        try transaction.messages.edit(room, 3, by: bob.id, body: Array("1".utf8))?.change,
        try transaction.messages.edit(room, 3, body: Array("1".utf8))?.change,
      ]
    }
    #expect(numbers == [1, 2, 0, 0, 3])
    #expect(try await test.read { try $0.rooms.snapshot(room)?.change } == 3)
  }

  @Test func `an undone change leaves no gap in the numbers`() async throws {
    struct Undone: Error {}
    try await edit(1)
    await #expect(throws: (any Error).self) {
      try await test.write { transaction in
        _ = try transaction.messages.edit(room, 2, body: [])
        throw Undone()
      }
    }
    try await edit(3)
    #expect(try await changes(after: 0) == [edited(1), edited(3, change: 2)])
  }

  @Test func `a client gets the changes after the newest one that it has`() async throws {
    try await edit(4)
    try await edit(2)
    try await edit(4, "newer")
    let all = [edited(2, change: 2), edited(4, "newer", change: 3)]
    #expect(try await changes(after: 0) == all)
    #expect(try await changes(after: 1) == all)
    #expect(try await changes(after: 2) == [all[1]])
    #expect(try await changes(after: 3) == [])
    // A client without message 4 gets it in its newest state.
    #expect(try await changes(upTo: 3, after: 0) == [all[0]])
  }

  @Test func `a change that the room does not have is an error of the client`() async throws {
    try await edit(1)
    #expect(try await changes(after: 2) == nil)
  }

  @Test func `no changes are returned after a number if they exceed a maximum`() async throws {
    for seq in 1...3 as ClosedRange<Int64> { try await edit(seq) }
    #expect(try await changes(after: 0, limit: 3)?.count == 3)
    #expect(try await changes(after: 0, limit: 2) == nil)
    #expect(try await changes(after: 1, limit: 2)?.count == 2)
    // Messages that the client does not have count, too: the query reads them.
    #expect(try await changes(upTo: 1, after: 0, limit: 2) == nil)
    #expect(try await changes(after: 0, maxBytes: 15)?.count == 3)
    #expect(try await changes(after: 0, maxBytes: 14) == nil)
  }

  @Test func `a changed message outside the history makes the list incomplete`() async throws {
    try await edit(1)
    try await edit(4)
    #expect(try await changes(after: 0, kept: 2) == nil)
    #expect(try await changes(after: 1, kept: 2) == [edited(4, change: 2)])
  }

  @Test func `the changes of swept messages make the list incomplete`() async throws {
    try await edit(2)
    try await edit(1)
    try await edit(5)
    try await test.write { transaction in
      try transaction.rooms.advanceCursor(room, to: 5)
      _ = try transaction.messages.trim(room, to: Retention(count: 3), maxDeleted: 9)
    }
    for change in 0...1 as ClosedRange<Int64> { #expect(try await changes(after: change) == nil) }
    #expect(try await changes(after: 2) == [edited(5, change: 3)])
    // The room's number is on disk, and not only in the writer's cache.
    #expect(try await test.read { try $0.db.first("SELECT forgotten FROM rooms")?[0] as Int64? } == 2)
  }

  @Test func `messages that are swept with new messages are not missed either`() async throws {
    try await edit(1)
    try await test.write { transaction in
      try transaction.rooms.advanceCursor(room, to: 5)
      for _ in 0..<MessageWriter.trimmedAtOnce {
        var message = draft(cursorFollows: true)
        message.retention = Retention(count: 5)
        _ = try transaction.messages.append(message)
      }
    }
    #expect(try await test.read { try $0.messages.message(room, 1) } == nil)
    #expect(try await changes(after: 0) == nil)
    #expect(try await changes(after: 1) == [])
  }
}
