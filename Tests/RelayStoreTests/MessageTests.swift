// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Messages: seqs, keys, cursors, and pages.
@Suite struct MessageTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func append(_ draft: MessageDraft) async throws -> Appended {
    try await test.write { try $0.messages.append(draft) }
  }

  @Test func `a message is stored byte for byte with the next seq`() async throws {
    try await test.write { try $0.prepareRoom() }
    let body = Array(#"{"a":1.0,"b":1e2,"c":"\u00e9/"}"#.utf8)
    let message = MessageDraft(room: room, from: alice, time: .at(7), body: body)
    #expect(try await append(message) == Appended(seq: 1, time: .at(7), epoch: "epoch"))
    #expect(try await append(message).seq == 2)
    let page = try await test.read { try $0.messages.page(room, after: 1, limit: 9) }
    #expect(page?.messages == [StoredMessage(seq: 2, from: alice.id, time: .at(7), body: body)])
  }

  /// The fields of a draft that the message's row has, with the columns that a value other than the default fills.
  private static let stored: [(field: String, columns: Set<String>, set: @Sendable (inout MessageDraft) -> Void)] = [
    ("mentions", ["mentions"], { $0.mentions = [bob.id] }),
    ("replyTo", ["reply_to"], { $0.replyTo = 1 }),
    ("isCounted", ["is_uncounted"], { $0.isCounted = false }),
    ("reports", ["reports"], { $0.reports = true }),
    ("push", ["push"], { $0.push = PushRequest(#"{"title":"Tea"}"#) }),
    ("push", ["push", "push_kind"], { $0.push = PushRequest(#"{"kind":"call"}"#) }),
    ("push", ["push", "push_category"], { $0.push = PushRequest(#"{"category":"invitation"}"#) }),
    ("push", ["push", "push_collapse"], { $0.push = PushRequest(#"{"collapse":"room"}"#) }),
  ]
  /// The fields that each row has, and those that belong to other tables or to the request. `ResponseTests` and
  /// `CallTests` test the messages of a response and of a call.
  private static let others: Set<String> = [
    "room", "from", "time", "body", "quoting", "silenced", "key", "jobs", "cursorFollows", "hasPhones", "retention",
    "_response", "call",
  ]

  @Test func `each field of a draft is stored if the message has no other`() async throws {
    let fields = Set(Mirror(reflecting: draft()).children.compactMap(\.label))
    #expect(fields == Self.others.union(Self.stored.map(\.field)), "a field is in `stored` or in `others`")
    try await test.write { try $0.prepareRoom() }
    _ = try await append(draft())
    for (field, columns, set) in Self.stored {
      var message = draft()
      set(&message)
      let seq = try await append(message).seq
      let changed = try await test.read { reader in
        let rows = try reader.db.all("SELECT * FROM messages WHERE seq IN (1, ?) ORDER BY seq", [seq])
        return Set(zip(rows[0], rows[1]).filter { $0.0 != "seq" && $0.1 != $1.1 }.map(\.0.0))
      }
      #expect(changed == columns, "\(field)")
    }
  }

  @Test func `each room has its own seqs`() async throws {
    let other = RoomID(unchecked: "other")
    try await test.write { try $0.prepareRoom() }
    try await test.write { try $0.prepareRoom(other) }
    #expect(try await append(draft()).seq == 1)
    #expect(try await append(draft(in: other)).seq == 1)
    #expect(try await append(draft()).seq == 2)
  }

  @Test func `the undecided messages are those above the room's cursor`() async throws {
    try await test.write { try $0.prepareRoom() }
    for _ in 1...3 { _ = try await append(draft()) }
    try await test.write { try $0.rooms.advanceCursor(room, to: 1) }
    let undecided = try await test.read { try $0.messages.undecided(in: room) }
    #expect(undecided.map(\.seq) == [2, 3])
    #expect(undecided.allSatisfy { $0.traits.from == alice.id })
    #expect(try await test.read { try $0.messages.undecided(in: RoomID(unchecked: "elsewhere")) }.isEmpty)
  }

  @Test func `a message to a room that does not exist is refused`() async throws {
    await #expect(throws: StoreError.noRoom(room)) { try await append(draft()) }
  }

  @Test func `a message raises only the read mark of its sender`() async throws {
    try await test.write { try $0.prepareRoom() }
    _ = try await append(draft(from: alice))
    _ = try await append(draft(from: User(id: UserID(unchecked: "backend"))))
    let members = try #require(try await test.read { try $0.rooms.snapshot(room)?.members })
    #expect(Dictionary(uniqueKeysWithValues: members.map { ($0.user.id, $0.read) }) == [alice.id: 1, bob.id: 0])
  }

  @Test func `a second attempt with the same key is a duplicate`() async throws {
    try await test.write { try $0.prepareRoom() }
    let first = try await append(draft("first", key: "k", jobs: [job()]))
    let second = try await append(draft("second", at: .at(1), key: "k", jobs: [job()]))
    #expect(first.jobs.count == 1)
    #expect(second == Appended(seq: 1, time: .at(0), epoch: "epoch", isDuplicate: true))
    #expect(try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages.count } == 1)
    #expect(try await test.read { try $0.queue.jobs(limit: 9).count } == 1)
  }

  @Test func `a key belongs to one user and one room`() async throws {
    let other = RoomID(unchecked: "other")
    try await test.write { try $0.prepareRoom() }
    try await test.write { try $0.prepareRoom(other) }
    for message in [draft(key: "k"), draft(from: bob, key: "k"), draft(in: other, key: "k"), draft(key: "l")] {
      #expect(try await append(message).isDuplicate == false)
    }
  }

  @Test func `a key is valid for exactly five minutes`() async throws {
    try await test.write { try $0.prepareRoom() }
    _ = try await append(draft(key: "k"))
    test.clocks.pass(.milliseconds(299_999))
    #expect(try await append(draft(at: .at(299_999), key: "k")).isDuplicate)
    test.clocks.pass(.milliseconds(1))
    let fresh = try await append(draft(at: .at(300_000), key: "k"))
    #expect(fresh == Appended(seq: 2, time: .at(300_000), epoch: "epoch"))
    #expect(try await append(draft(at: .at(300_001), key: "k")).seq == 2)
  }

  @Test func `new keys delete expired ones`() async throws {
    try await test.write { try $0.prepareRoom() }
    func count() async throws -> Int? {
      try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM keys") }
    }
    try await test.write { transaction in
      for number in 1...500 { _ = try transaction.messages.append(draft(key: "old\(number)")) }
    }
    #expect(try await count() == 500)
    test.clocks.pass(.seconds(300))
    try await test.write { transaction in
      for number in 1...600 { _ = try transaction.messages.append(draft(key: "new\(number)")) }
    }
    #expect(try await count() == 600)
  }

  @Test func `the cursor moves over a message without a pending decision`() async throws {
    try await test.write { try $0.prepareRoom() }
    func cursor(_ follows: Bool) async throws -> Int64? {
      _ = try await append(draft(cursorFollows: follows))
      return try await test.read { try $0.rooms.snapshot(room)?.state.cursor }
    }
    #expect(try await cursor(true) == 1)
    #expect(try await cursor(false) == 1)
    #expect(try await cursor(true) == 1)
    try await test.write { try $0.rooms.advanceCursor(room, to: 3) }
    #expect(try await cursor(true) == 4)
  }

  private func fill(_ count: Int) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for number in 1...count { _ = try transaction.messages.append(draft("\(number)")) }
    }
  }

  @Test(
    arguments: [
      (0, 10, 1...10, true), (0, 12, 1...12, false), (5, 3, 6...8, true), (9, 3, 10...12, false),
      (11, 5, 12...12, false),
    ] as [(Int64, Int, ClosedRange<Int64>, Bool)])
  func `a page follows a seq`(after: Int64, limit: Int, expected: ClosedRange<Int64>, more: Bool) async throws {
    try await fill(12)
    let page = try #require(try await test.read { try $0.messages.page(room, after: after, limit: limit) })
    #expect(page.messages.map(\.seq) == Array(expected))
    #expect(page.more == more)
    #expect(page.newest == 12)
    #expect(page.first == 1)
    #expect(page.epoch == "epoch")
  }

  @Test(
    arguments: [(0, 10, 1...7, false), (0, 6, 1...6, true), (6, 3, 7...7, false)]
      as [(Int64, Int, ClosedRange<Int64>, Bool)])
  func `a page ends at a seq`(after: Int64, limit: Int, expected: ClosedRange<Int64>, more: Bool) async throws {
    try await fill(12)
    let page = try #require(try await test.read { try $0.messages.page(room, after: after, upTo: 7, limit: limit) })
    #expect(page.messages.map(\.seq) == Array(expected))
    #expect(page.more == more)
  }

  @Test(
    arguments: [
      (nil, 10, 3...12, true), (nil, 12, 1...12, false), (6, 3, 3...5, true), (4, 3, 1...3, false),
      (99, 1, 12...12, true),
    ] as [(Int64?, Int, ClosedRange<Int64>, Bool)])
  func `a page precedes a seq`(before: Int64?, limit: Int, expected: ClosedRange<Int64>, more: Bool) async throws {
    try await fill(12)
    let page = try #require(try await test.read { try $0.messages.page(room, before: before, limit: limit) })
    #expect(page.messages.map(\.seq) == Array(expected))
    #expect(page.more == more)
  }

  @Test func `the page of an empty room is empty, and an unknown room has none`() async throws {
    try await test.write { try $0.prepareRoom() }
    let page = try await test.read { try $0.messages.page(room, before: nil, limit: 9) }
    #expect(page == MessagePage(epoch: "epoch", newest: 0, first: 1, messages: [], more: false))
    #expect(try await test.read { try $0.messages.page(RoomID(unchecked: "none"), after: 0, limit: 9) } == nil)
    #expect(try await test.read { try $0.messages.page(RoomID(unchecked: "none"), before: nil, limit: 9) } == nil)
  }

  @Test func `a page has all requested bodies, or reports that they exceed the maximum`() async throws {
    // Bodies of 3 bytes each.
    try await fill(9)
    let whole = try #require(try await test.read { try $0.messages.page(room, after: 0, limit: 9, maxBytes: 27) })
    #expect(whole.messages.count == 9)
    #expect(!whole.exceeds)
    let none = try #require(try await test.read { try $0.messages.page(room, after: 0, limit: 9, maxBytes: 26) })
    #expect(none.messages.isEmpty)
    #expect(none.exceeds)
    #expect(none.newest == 9)
    let newest = try #require(
      try await test.read { try $0.messages.page(room, before: nil, limit: 2, maxBytes: 6) })
    #expect(newest.messages.map(\.seq) == [8, 9])
    #expect(newest.more)
  }

  @Test func `a page ends before the maximum of bytes, but has at least one message`() async throws {
    // Bodies of 3 bytes each.
    try await fill(9)
    for (bytes, after, before) in [(6, [1, 2], [8, 9]), (8, [1, 2], [8, 9]), (1, [1], [9])] as [(Int, [Int64], [Int64])]
    {
      let first = try await test.read { try $0.messages.page(room, after: 0, limit: 9, pageBytes: bytes) }
      #expect(first?.messages.map(\.seq) == after)
      let last = try await test.read { try $0.messages.page(room, before: nil, limit: 9, pageBytes: bytes) }
      #expect(last?.messages.map(\.seq) == before)
      #expect(first?.more == true && last?.more == true)
    }
    let whole = try await test.read { try $0.messages.page(room, after: 0, limit: 9, pageBytes: 27) }
    #expect(whole?.messages.count == 9)
    #expect(whole?.more == false)
  }

  @Test func `a transaction reads its own writes`() async throws {
    let seqs = try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft())
      return try transaction.reader.messages.page(room, after: 0, limit: 9)?.messages.map(\.seq)
    }
    #expect(seqs == [1])
  }
}
