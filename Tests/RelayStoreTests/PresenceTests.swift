// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// The stored online states, from which a start knows the users who return.
@Suite struct PresenceTests {
  private let test: TestStore
  init() throws { test = try TestStore() }

  private func save(_ user: User, _ lastSeen: Timestamp, _ activity: Activity?) async throws {
    try await test.write { try $0.people.savePresence(of: user.id, lastSeen: lastSeen, activity: activity) }
  }

  private func record(_ user: User) async throws -> UserRecord? {
    try await test.read { try $0.people.user(user.id) }
  }

  @Test(arguments: [Activity.active, .idle, .background])
  func `a user is online with an activity, and then offline`(activity: Activity) async throws {
    try await save(bob, .at(1), activity)
    #expect(try await record(bob)?.activity == activity)
    #expect(try await record(bob)?.lastSeen == .at(1))
    try await save(bob, .at(2), nil)
    #expect(try await record(bob)?.activity == nil)
    #expect(try await record(bob)?.lastSeen == .at(2))
  }

  @Test func `the last time never goes back, also if the state changes`() async throws {
    test.clocks.pass(.seconds(1))
    try await save(bob, .at(5), .active)
    try await save(bob, .at(4), nil)
    #expect(try await record(bob)?.lastSeen == .at(5))
    #expect(try await record(bob)?.activity == nil)
  }

  @Test func `a last time in the future gives way, also if the state does not change`() async throws {
    for step in [40 * 86_400, 3_600] as [Int64] {
      test.clocks.set(by: .seconds(step))
      try await save(bob, test.clocks.now, .active)
      try await test.write { [now = test.clocks.now] in try $0.people.touch(alice.id, lastSeen: now) }
      test.clocks.set(by: .seconds(-step))
      test.clocks.pass(.seconds(1))
      try await save(bob, test.clocks.now, .active)
      try await test.write { [now = test.clocks.now] in try $0.people.touch(alice.id, lastSeen: now) }
      for user in [alice, bob] { #expect(try await record(user)?.lastSeen == test.clocks.now) }
    }
  }

  @Test func `a join keeps the online state, and a room has that of its members`() async throws {
    try await save(bob, .at(1), .idle)
    try await test.write { try $0.prepareRoom() }
    let members = try await test.read { try $0.rooms.snapshot(room)?.members ?? [] }
    let activities = Dictionary(uniqueKeysWithValues: members.map { ($0.user.id, $0.record.activity) })
    #expect(activities == [alice.id: nil, bob.id: .idle])
  }

  @Test func `online users are read in pages`() async throws {
    let users = (1...5).map { User(id: UserID(unchecked: "user\($0)")) }
    for user in users { try await save(user, .at(1), .active) }
    try await save(users[2], .at(2), nil)
    #expect(try await test.read { try $0.people.onlineCount() } == 4)
    let first = try await test.read { try $0.people.online(after: 0, limit: 3) }
    #expect(first.map(\.user) == [users[0], users[1], users[3]].map(\.id))
    let position = try #require(first.last?.position)
    let rest = try await test.read { try $0.people.online(after: position, limit: 3) }
    #expect(rest.map(\.user) == [users[4].id])
  }

  @Test func `users who do not return are stored as offline, with the time that is known`() async throws {
    for user in [alice, bob] { try await save(user, .at(7), .active) }
    try await test.write { try $0.people.saveOffline([bob.id, UserID(unchecked: "nobody")]) }
    #expect(try await record(alice)?.activity == .active)
    #expect(try await record(bob)?.activity == nil)
    #expect(try await record(bob)?.lastSeen == .at(7))
    #expect(try await record(User(id: UserID(unchecked: "nobody"))) == nil)
  }
}
