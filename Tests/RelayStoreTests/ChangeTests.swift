// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// The edits and deletions that a client has missed.
@Suite struct ChangeTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in
      try transaction.prepareRoom()
      for number in 1...5 { _ = try transaction.messages.append(draft("\(number)")) }
    }
  }

  private func changes(upTo seq: Int64, limit: Int = 9, maxBytes: Int = 999) async throws -> [ChangedMessage]? {
    try await test.read { try $0.messages.changes(room, upTo: seq, limit: limit, maxBytes: maxBytes) }
  }

  private func edit(_ seq: Int64, _ text: String = "new", at time: Int64 = 7) async throws {
    try await test.write { _ = try $0.messages.edit(room, seq, at: .at(time), body: Array("\"\(text)\"".utf8)) }
  }

  private func edited(_ seq: Int64, _ text: String = "new", at time: Int64 = 7) -> ChangedMessage {
    ChangedMessage(seq: seq, time: .at(time), body: Array("\"\(text)\"".utf8))
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
    #expect(try await changes(upTo: 5) == [edited(1, at: 3), edited(3, "second", at: 2)])
    try await test.write { _ = try $0.messages.delete(room, 3, at: .at(4)) }
    #expect(
      try await changes(upTo: 5) == [edited(1, at: 3), ChangedMessage(seq: 3, time: .at(4), body: nil)])
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
    #expect(
      try await test.read { try $0.messages.changes(room, upTo: 5, kept: 2, limit: 9, maxBytes: 99) } == [edited(4)])
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
}
