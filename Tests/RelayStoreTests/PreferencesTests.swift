// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// The preferences of users.
@Suite struct PreferencesTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static let some: Preferences = {
    var preferences = Preferences()
    preferences[room] = RoomPreference(level: .none, until: .at(5), criteria: "a \"room\"")
    preferences[RoomID(unchecked: "a|b")] = RoomPreference(level: .mentions)
    preferences.onFocus = .hold
    preferences.shareFocus = .none
    preferences.shareOnline = .rooms
    return preferences
  }()

  private func stored() async throws -> String? {
    try await test.read { try String.fetchOne($0.db, sql: "SELECT preferences FROM users WHERE name = 'bob'") }
  }

  @Test func `preferences are read with the user and with the member`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.people.save(Self.some, of: bob.id)
    }
    #expect(try await test.read { try $0.people.user(bob.id)?.preferences } == Self.some)
    #expect(try await test.read { try $0.people.user(alice.id)?.preferences } == Preferences())
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    #expect(members?.first { $0.user.id == bob.id }?.record.preferences == Self.some)
  }

  @Test func `equal preferences are stored as the same text, and defaults as none`() async throws {
    try await test.write { try $0.people.save(Self.some, of: bob.id) }
    let first = try await stored()
    #expect(first?.hasPrefix("{\"onFocus\":\"hold\",\"rooms\":{") == true)
    try await test.write { try $0.people.save(Preferences(), of: bob.id) }
    #expect(try await stored() == nil)
    try await test.write { try $0.people.save(Self.some, of: bob.id) }
    #expect(try await stored() == first)
  }

  @Test(arguments: ["", "{", "[]", #"{"onFocus":"later"}"#, #"{"onFocus":1}"#, #"{} {}"#])
  func `the error for damaged preferences does not contain them`(text: String) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.db.execute(sql: "UPDATE users SET preferences = ?", arguments: [text])
    }
    let damaged = StoreError.invalidRow(reason: "the stored JSON of a user's preferences cannot be read")
    await #expect(throws: damaged) { try await test.read { try $0.people.user(bob.id) } }
    await #expect(throws: damaged) { try await test.read { try $0.rooms.snapshot(room) } }
    await #expect(throws: damaged) { try await test.read { try $0.messages.unread(of: bob.id, now: .at(0)) } }
  }
}

/// The blocks of users.
@Suite struct BlockTests {
  let test: TestStore
  init() throws { test = try TestStore() }
  private static let stranger = UserID(unchecked: "stranger")

  @Test func `only the blocking user has the block`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for other in [alice.id, Self.stranger] { #expect(try transaction.people.block(other, by: bob.id)) }
      #expect(try transaction.people.block(alice.id, by: bob.id) == false)
    }
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks } == [alice.id, Self.stranger])
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    let blocks = members.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.user.id, $0.record.blocks) }) }
    #expect(blocks == [alice.id: [], bob.id: [alice.id, Self.stranger]])
  }

  @Test func `a block creates no row for an unknown user`() async throws {
    func users() async throws -> Int? {
      try await test.write { try $0.db.first("SELECT count(*) FROM users")?[0] }
    }
    try await test.write { try $0.people.block(alice.id, by: bob.id) }
    let before = try await users()
    for round in 0..<3 {
      try await test.write {
        for number in 0..<256 { try $0.people.block(UserID(unchecked: "new\(round).\(number)"), by: bob.id) }
      }
      #expect(try await users() == before)
      try await test.write {
        for number in 0..<256 { try $0.people.unblock(UserID(unchecked: "new\(round).\(number)"), by: bob.id) }
      }
    }
    #expect(try await users() == before)
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks } == [alice.id])
  }

  @Test func `a block can be removed once`() async throws {
    let ended = try await test.write { transaction in
      try transaction.people.block(alice.id, by: bob.id)
      return try [
        transaction.people.unblock(Self.stranger, by: bob.id), transaction.people.unblock(bob.id, by: alice.id),
        transaction.people.unblock(alice.id, by: bob.id), transaction.people.unblock(alice.id, by: bob.id),
      ]
    }
    #expect(ended == [false, false, true, false])
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks } == [])
  }

  @Test func `a block beyond the limit is refused, and its whole transaction is undone`() async throws {
    func block(_ numbers: ClosedRange<Int>) async throws(StoreError) {
      try await test.store.write {
        for number in numbers { try $0.people.block(UserID(unchecked: "user\(number)"), by: bob.id) }
      }
    }
    try await block(1...PeopleWriter.maxBlocked - 1)
    await #expect(throws: StoreError.tooMany(.blockedUsers)) { try await block(5_000...5_001) }
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks.count } == PeopleWriter.maxBlocked - 1)
    try await block(5_000...5_000)
    await #expect(throws: StoreError.tooMany(.blockedUsers)) { try await block(5_001...5_001) }
    // A repeated block does not count.
    try await block(5_000...5_000)
    #expect(try await test.read { try $0.people.user(UserID(unchecked: "user5001")) } == nil)
  }
}
