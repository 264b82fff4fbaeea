// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

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

  @Test func `preferences come back as they were saved, with the user and as a member`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.people.save(Self.some, of: bob.id)
    }
    #expect(try await test.read { try $0.people.user(bob.id)?.preferences } == Self.some)
    #expect(try await test.read { try $0.people.user(alice.id)?.preferences } == Preferences())
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    #expect(members?.first { $0.user.id == bob.id }?.preferences == Self.some)
  }

  @Test func `equal preferences are the same text, and default ones none`() async throws {
    try await test.write { try $0.people.save(Self.some, of: bob.id) }
    let first = try await stored()
    #expect(first?.hasPrefix("{\"onFocus\":\"hold\",\"rooms\":{") == true)
    try await test.write { try $0.people.save(Preferences(), of: bob.id) }
    #expect(try await stored() == nil)
    try await test.write { try $0.people.save(Self.some, of: bob.id) }
    #expect(try await stored() == first)
  }

  @Test(arguments: ["", "{", "[]", #"{"onFocus":"later"}"#, #"{"onFocus":1}"#, #"{} {}"#])
  func `preferences that cannot be read are an error that does not tell them`(text: String) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.db.execute(sql: "UPDATE users SET preferences = ?", arguments: [text])
    }
    let damaged = StoreError.damaged(reason: "the stored JSON of a user's preferences cannot be read")
    await #expect(throws: damaged) { try await test.read { try $0.people.user(bob.id) } }
    await #expect(throws: damaged) { try await test.read { try $0.rooms.snapshot(room) } }
    await #expect(throws: damaged) { try await test.read { try $0.messages.unread(of: bob.id, now: .at(0)) } }
  }
}

@Suite struct BlockTests {
  let test: TestStore
  init() throws { test = try TestStore() }
  private static let stranger = UserID(unchecked: "stranger")

  @Test func `who is blocked is told of who blocked them, and of nobody else`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for other in [alice.id, Self.stranger] { #expect(try transaction.people.block(other, by: bob.id)) }
      #expect(try transaction.people.block(alice.id, by: bob.id) == false)
    }
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks } == [alice.id, Self.stranger])
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    let blocks = members.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.user.id, $0.blocks) }) }
    #expect(blocks == [alice.id: [], bob.id: [alice.id, Self.stranger]])
  }

  @Test func `a block makes no row of a user`() async throws {
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

  @Test func `a block ends once`() async throws {
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

  @Test func `one past the bound is refused, and undone with all that came with it`() async throws {
    func block(_ numbers: ClosedRange<Int>) async throws(StoreError) {
      try await test.store.write {
        for number in numbers { try $0.people.block(UserID(unchecked: "user\(number)"), by: bob.id) }
      }
    }
    try await block(1...PeopleWriter.mostBlocked - 1)
    await #expect(throws: StoreError.tooMany(.blockedUsers)) { try await block(5_000...5_001) }
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks.count } == PeopleWriter.mostBlocked - 1)
    try await block(5_000...5_000)
    await #expect(throws: StoreError.tooMany(.blockedUsers)) { try await block(5_001...5_001) }
    // Again is no more.
    try await block(5_000...5_000)
    #expect(try await test.read { try $0.people.user(UserID(unchecked: "user5001")) } == nil)
  }
}
