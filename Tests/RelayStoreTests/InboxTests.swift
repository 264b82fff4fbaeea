// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayStore

/// The list of a user's rooms.
@Suite struct InboxTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static func name(_ number: Int) -> RoomID { RoomID(unchecked: "r\(number)") }

  /// Makes a user a member of the rooms r0, r1, …
  private func join(_ count: Int, _ user: User = bob, prefix: String = "r") async throws {
    try await test.write { transaction in
      for number in 0..<count {
        _ = try transaction.rooms.join(user, room: RoomID(unchecked: "\(prefix)\(number)"), epoch: "e", now: .at(0))
      }
    }
  }

  private func send(_ text: String = "hi", in number: Int, from user: User = alice) async throws {
    try await test.write { _ = try $0.messages.append(draft(text, in: Self.name(number), from: user)) }
  }

  /// Appends a message in the way that shares statements and row updates.
  private func sendGrouped(in numbers: [Int]) async {
    await withCheckedContinuation { continuation in
      test.gather {
        for (index, number) in numbers.enumerated() {
          test.store.append(draft(in: Self.name(number))) { _ in
            if index == numbers.count - 1 { continuation.resume() }
          }
        }
      }
    }
  }

  private func page(
    _ page: InboxPage = .before(.max), limit: Int = 50, of user: User = bob, hasBodies: Bool = true
  ) async throws -> InboxRooms {
    try await test.read { try $0.inbox.rooms(of: user.id, page, limit: limit, hasBodies: hasBodies, now: .at(0)) }
  }

  private func names(_ page: InboxRooms) -> [String] { page.entries.map(\.room.rawValue) }

  @Test func `the room with the newest message is the first one`() async throws {
    try await join(4)
    #expect(names(try await page()) == ["r3", "r2", "r1", "r0"])
    try await send(in: 1)
    #expect(names(try await page()) == ["r1", "r3", "r2", "r0"])
    // Alice is no member of r0. A message of one room in a group is as new as its last one.
    await sendGrouped(in: [0, 2, 0, 3, 0])
    #expect(names(try await page()) == ["r0", "r3", "r2", "r1"])
    #expect(try await page(of: alice).entries == [])
  }

  @Test func `an entry has the newest message and the state of the member`() async throws {
    try await join(1)
    try await test.write { transaction in
      let group = RoomDraft(
        room: RoomID(unchecked: "tea"), epoch: "e", details: RoomDetails(title: "Tea", avatar: "https://a.example/t"),
        creator: alice, members: [bob.id, UserID(unchecked: "carol")])
      _ = try transaction.rooms.make(group)
      let direct = RoomDraft(
        room: RoomID(unchecked: "direct"), epoch: "e", details: RoomDetails(kind: .direct, join: .invited),
        creator: bob, members: [alice.id])
      _ = try transaction.rooms.makeDirect(direct)
      var message = draft("one", in: RoomID(unchecked: "tea"))
      _ = try transaction.messages.append(message)
      message.mentions = [bob.id]
      _ = try transaction.messages.append(message)
      try transaction.rooms.mark(RoomID(unchecked: "tea"), bob.id, read: 1)
      var preferences = Preferences()
      preferences[RoomID(unchecked: "tea")].level = .none
      try transaction.people.save(preferences, of: bob.id)
    }
    let entries = try await page().entries
    #expect(entries.map(\.room.rawValue) == ["tea", "direct", "r0"])
    #expect(entries[0].details.title == "Tea" && entries[0].details.avatar == "https://a.example/t")
    #expect(entries[0].memberCount == 3 && entries[0].other == nil)
    #expect(entries[0].unread == Unread(messages: 1, mentions: 1))
    #expect(entries[0].isMuted && entries[0].read == 1)
    #expect(entries[0].lastMessage?.seq == 2 && entries[0].lastMessage?.from == alice)
    #expect(entries[0].lastMessage?.time == .at(0))
    #expect(entries[0].lastMessage?.body == Array("\"one\"".utf8))
    #expect(entries[1].details.kind == .direct && entries[1].memberCount == 2)
    #expect(entries[1].other == alice && entries[1].lastMessage == nil && !entries[1].isMuted)
    #expect(try await page(of: alice).entries.first { $0.details.kind == .direct }?.other == bob)
    #expect(entries[2].details == RoomDetails() && entries[2].memberCount == 1 && entries[2].unread == Unread())
    #expect(try await page(hasBodies: false).entries[0].lastMessage?.body == nil)
    #expect(try await page(hasBodies: false).entries[0].lastMessage?.seq == 2)
  }

  @Test func `a deleted message and a message that is not kept have no body`() async throws {
    try await join(2)
    try await send(in: 0)
    try await send(in: 1)
    try await test.write { transaction in
      _ = try transaction.messages.delete(Self.name(0), 1)
      try transaction.rooms.advanceCursor(Self.name(1), to: 1)
      _ = try transaction.messages.trim(Self.name(1), to: Retention(count: 0), maxDeleted: 9)
    }
    let entries = try await page().entries
    #expect(entries.map(\.room.rawValue) == ["r1", "r0"])
    #expect(entries[0].lastMessage == nil)
    #expect(entries[1].lastMessage?.isDeleted == true && entries[1].lastMessage?.body == nil)
  }

  @Test func `pages contain each room once while nothing changes`() async throws {
    try await join(7)
    var found: [String] = []
    var start = Int64.max
    for size in [3, 3, 1] {
      let page = try await page(.before(start), limit: 3)
      #expect(page.entries.count == size && page.more == (found.count + size < 7))
      found += names(page)
      start = page.entries.last?.number ?? 0
    }
    #expect(found == ["r6", "r5", "r4", "r3", "r2", "r1", "r0"])
    #expect(try await page(limit: 7).more == false)
  }

  @Test(arguments: [0, InboxReader.manyRooms])
  func `the changes since a position contain all kinds of changes, and nothing else`(others: Int) async throws {
    try await join(others, prefix: "other")
    try await join(6)
    try await send(in: 4)
    try await send(in: 5)
    let position = try await page().position
    #expect(try await page(.after(position.number)).entries == [])
    try await send(in: 1)
    try await test.write { transaction in
      _ = try transaction.rooms.update(Self.name(2), RoomChange(title: "Tea"), by: .backend)
      // A mark that does not rise changes nothing.
      try transaction.rooms.mark(Self.name(3), bob.id, read: 1, received: 1)
      try transaction.rooms.mark(Self.name(4), bob.id, read: 1)
      _ = try transaction.messages.edit(Self.name(5), 1, body: Array("2".utf8))
      _ = try transaction.rooms.join(bob, room: Self.name(9), epoch: "e", now: .at(0))
    }
    let changes = try await page(.after(position.number))
    #expect(names(changes) == ["r1", "r2", "r4", "r5", "r9"])
    #expect(changes.entries[1].details.title == "Tea" && changes.entries[2].unread.messages == 0)
    // The order of the list has not changed, except for the message and the new room.
    #expect(names(try await page()).prefix(7) == ["r9", "r1", "r5", "r4", "r3", "r2", "r0"])
    let first = try await page(.after(position.number), limit: 2)
    #expect(names(first) == ["r1", "r2"] && first.more)
    #expect(names(try await page(.after(first.entries[1].number))) == ["r4", "r5", "r9"])
    #expect(try await page(.after(changes.position.number)).entries == [])
  }

  @Test func `changes are incomplete after the list has lost a room`() async throws {
    try await join(4)
    func isComplete(_ position: InboxPosition) async throws -> Bool {
      try await test.read { try $0.inbox.isComplete(of: bob.id, since: position) }
    }
    var position = try await page().position
    #expect(try await isComplete(position))
    try await test.write { _ = try $0.rooms.leave(bob.id, room: Self.name(0)) }
    #expect(try await !isComplete(position))
    position = try await page().position
    #expect(try await isComplete(position))
    try await test.write { try $0.rooms.delete(Self.name(1), by: .backend) }
    #expect(names(try await page()) == ["r3", "r2"])
    #expect(try await !isComplete(position))
    try await test.write { while try $0.rooms.sweepDeleted() {} }
    #expect(try await !isComplete(position))
    position = try await page().position
    #expect(try await isComplete(position))
    try await test.write { try $0.people.withdraw(from: [Self.name(2)], bob.id) }
    #expect(names(try await page()) == ["r3"])
    #expect(try await !isComplete(position))
    position = try await page().position
    try await send(in: 2)
    #expect(try await page(.after(position.number)).entries == [])
    // A position of another numbering, or one that is not reached yet.
    #expect(try await !isComplete(InboxPosition(epoch: "other", number: position.number)))
    #expect(try await !isComplete(InboxPosition(epoch: position.epoch, number: position.number + 1_000_000)))
    #expect(try await isComplete(page().position))
  }

  @Test func `positions continue after work that was undone`() async throws {
    try await join(2)
    let before = try await page().position
    struct Fault: Error {}
    try? await test.write { transaction in
      _ = try transaction.messages.append(draft(in: Self.name(0)))
      throw Fault()
    }
    #expect(try await page().position == before)
    #expect(try await page(.after(before.number)).entries == [])
    try await send(in: 0)
    let after = try await page()
    #expect(after.position.number > before.number)
    #expect(names(after) == ["r0", "r1"] && after.entries[0].lastMessage?.seq == 1)
  }

  @Test func `a message changes one short row for any number of members`() async throws {
    try await join(1)
    func rows() async throws -> Int {
      try await test.write { transaction in
        let before = transaction.db.totalChangesCount
        _ = try transaction.messages.append(draft(in: Self.name(0)))
        return transaction.db.totalChangesCount - before
      }
    }
    _ = try await rows()
    let alone = try await rows()
    try await test.write { transaction in
      for number in 0..<50 {
        _ = try transaction.rooms.join(
          User(id: UserID(unchecked: "u\(number)")), room: Self.name(0), epoch: "e", now: .at(0))
      }
    }
    #expect(try await rows() == alone)
    #expect(try await page().entries[0].memberCount == 51)
  }

  @Test func `the pages of a user with many rooms are the same by both ways`() async throws {
    try await join(InboxReader.manyRooms + 20)
    // Rooms of another user are newer, more than the walk looks at.
    try await join(InboxReader.maxWalked, alice, prefix: "a")
    let last = InboxReader.manyRooms + 19
    #expect(names(try await page(limit: 2)) == ["r\(last)", "r\(last - 1)"])
    // Now the walk finds the first pages, and not all of the last one.
    try await send(in: 3)
    try await send(in: 5)
    let first = try await page(limit: 1)
    #expect(names(first) == ["r5"] && first.more)
    let second = try await page(.before(first.entries[0].number), limit: 2)
    #expect(names(second) == ["r3", "r\(last)"] && second.more)
    try await test.write { try $0.people.withdraw(from: [Self.name(5)], bob.id) }
    #expect(names(try await page(limit: 1)) == ["r3"])
  }

  @Test func `the changes of a user with many rooms are the same by both ways`() async throws {
    try await join(InboxReader.manyRooms)
    for room in [2, 7] { try await send(in: room) }
    let position = try await page().position.number
    for room in [3, 5, 3] { try await send(in: room) }
    try await test.write { transaction in
      for room in [5, 7] { _ = try transaction.messages.edit(Self.name(room), 1, body: Array("2".utf8)) }
      try transaction.rooms.mark(Self.name(2), bob.id, read: 1)
      try transaction.rooms.mark(Self.name(3), bob.id, read: 1)
    }
    func pages(of limit: Int) async throws -> [String] {
      var (found, after, more) = ([String](), position, true)
      while more {
        let page = try await page(.after(after), limit: limit)
        #expect(page.entries.count == limit || !page.more)
        found += names(page)
        (after, more) = (page.entries.last?.number ?? after, page.more)
      }
      return found
    }
    let changes = ["r5", "r7", "r2", "r3"]
    for limit in [1, 3, 4, 50] { #expect(try await pages(of: limit) == changes) }
    // Rooms of another user change, more than the walk looks at.
    try await join(InboxReader.maxWalked, alice, prefix: "a")
    try await send(in: 9)
    for limit in [1, 3, 4, 5, 50] { #expect(try await pages(of: limit) == changes + ["r9"]) }
    try await test.write { try $0.people.withdraw(from: [Self.name(5)], bob.id) }
    #expect(try await pages(of: 50) == ["r7", "r2", "r3", "r9"])
  }

  @Test(arguments: 1...3) func `the pages of changes have each room once, in the order of its newest change`(
    seed: Int
  ) async throws {
    try await join(InboxReader.manyRooms)
    for room in 0..<12 { try await send(in: room) }
    let start = try await page().position.number
    var random = SeededGenerator(seed: seed)
    var newest = [Int64](repeating: 1, count: 12)
    for _ in 0..<40 {
      let number = Int.random(in: 0..<12, using: &random)
      let kind = Int.random(in: 0..<4, using: &random)
      if kind == 3 { newest[number] += 1 }
      let (room, seq) = (Self.name(number), newest[number])
      try await test.write { transaction in
        switch kind {
        case 0: _ = try transaction.messages.edit(room, 1, body: Array("2".utf8))
        case 1: _ = try transaction.rooms.update(room, RoomChange(title: "Tea"), by: .backend)
        case 2: try transaction.rooms.mark(room, bob.id, read: seq)
        default: _ = try transaction.messages.append(draft(in: room))
        }
      }
    }
    let changes = try await test.write { transaction in
      try Row.fetchAll(
        transaction.db,
        sql: """
          SELECT rooms.name, max(activity.changed, members.changed) AS number
          FROM members JOIN rooms ON rooms.id = members.room JOIN activity ON activity.room = rooms.id
          WHERE members.user = (SELECT id FROM users WHERE name = 'bob') AND number > ? ORDER BY number
          """, arguments: [start]
      ).map { $0["name"] as String }
    }
    #expect(changes.count > 6)
    for limit in 1...13 {
      var (found, after, more) = ([String](), start, true)
      while more {
        let page = try await page(.after(after), limit: limit)
        found += names(page)
        (after, more) = (page.entries.last?.number ?? after, page.more)
      }
      #expect(found == changes, "limit \(limit)")
    }
  }

  @Test(arguments: [
    // The covering index has the user's rooms, and `activity` is found by its key.
    (2, "activity USING INTEGER PRIMARY KEY (rowid=?)", ["own USING COVERING INDEX members_user (user=?)"]),
    // The covering index has the newest rooms and their numbers of members.
    (
      InboxReader.manyRooms, "activity USING COVERING INDEX activity_position (position>? AND position<?)",
      ["own USING PRIMARY KEY (room=? AND user=?)"]
    ),
  ])
  func `the page is found by indexes`(rooms: Int, newest: String, searches: [String]) async throws {
    try await join(rooms)
    let plans = try await test.write { transaction in
      var plans: [String] = []
      transaction.db.trace { event in
        if case .statement(let statement) = event, statement.sql.hasPrefix("WITH page") { plans.append(statement.sql) }
      }
      for start in [InboxPage.before(.max), .after(0)] {
        _ = try transaction.reader.inbox.rooms(of: bob.id, start, limit: 1, now: .at(0))
      }
      transaction.db.trace(nil)
      return try plans.map { sql in
        try Row.fetchAll(
          transaction.db, sql: "EXPLAIN QUERY PLAN \(sql)",
          arguments: [1, 1, 1, 1, "", true, nil, "bob"]
        ).map { $0["detail"] as String }
      }
    }
    #expect(plans.count == 2)
    #expect(plans[0].contains("SEARCH \(newest)"), "\(plans[0])")
    // Only a scan must sort the rooms, and nothing sorts the entries.
    let sorts = plans[0].count { $0.contains("TEMP B-TREE") }
    #expect(sorts == (rooms < InboxReader.manyRooms ? 1 : 0), "\(plans[0])")
    for plan in plans {
      for search in searches { #expect(plan.contains("SEARCH \(search)"), "\(plan)") }
      #expect(plan.contains("SEARCH messages USING PRIMARY KEY (room=? AND seq=?) LEFT-JOIN"), "\(plan)")
      // Only the page itself, and its parts, are read from their first row to their last.
      let scans = Set(plan.filter { $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN (subquery") })
      #expect(scans.isSubset(of: ["SCAN page", "SCAN found", "SCAN json_each VIRTUAL TABLE INDEX 1:"]), "\(plan)")
    }
  }
}
