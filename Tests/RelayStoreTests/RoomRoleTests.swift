// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

private let tea = RoomID(unchecked: "tea")
private let carol = User(id: UserID(unchecked: "carol"))
private let dave = User(id: UserID(unchecked: "dave"))

/// The roles of members, and the begin and the end of memberships by others.
@Suite struct RoomRoleTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Alice is the owner, Bob a moderator, and Carol the newest member.
  private func prepare(join: RoomJoin = .invited) async throws {
    let draft = RoomDraft(
      room: tea, epoch: "e", details: RoomDetails(join: join), creator: alice, members: [bob.id, carol.id])
    try await test.write {
      _ = try $0.rooms.make(draft)
      try $0.rooms.setRole(.moderator, of: bob.id, in: tea, by: .user(alice.id, moderates: false))
    }
  }

  private func roles() async throws -> [String: RoomRole] {
    let members = try await test.read { try $0.rooms.snapshot(tea)?.members ?? [] }
    return Dictionary(uniqueKeysWithValues: members.map { ($0.user.id.rawValue, $0.role) })
  }

  private func actor(_ user: User) -> RoomActor { .user(user.id, moderates: false) }

  private func expect<T: Sendable>(
    _ refusal: RoomRefusal, sourceLocation: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable (Transaction) throws -> T
  ) async {
    await #expect(throws: StoreError.refused(refusal), sourceLocation: sourceLocation) {
      try await self.test.write(work)
    }
  }

  // MARK: Roles

  @Test func `only an owner changes roles, and the last one stays`() async throws {
    try await prepare()
    #expect(try await roles() == ["alice": .owner, "bob": .moderator, "carol": .member])
    let (owner, moderator) = (actor(alice), actor(bob))
    await expect(.needs(.owner)) { try $0.rooms.setRole(.owner, of: carol.id, in: tea, by: moderator) }
    await expect(.needs(.owner)) {
      try $0.rooms.setRole(.owner, of: carol.id, in: tea, by: .user(bob.id, moderates: true))
    }
    await expect(.noMember) { try $0.rooms.setRole(.owner, of: dave.id, in: tea, by: owner) }
    await expect(.lastOwner) { try $0.rooms.setRole(.member, of: alice.id, in: tea, by: owner) }
    try await test.write {
      try $0.rooms.setRole(.owner, of: carol.id, in: tea, by: owner)
      try $0.rooms.setRole(.member, of: alice.id, in: tea, by: owner)
    }
    #expect(try await roles() == ["alice": .member, "bob": .moderator, "carol": .owner])
  }

  @Test func `the member with the longest membership follows the last owner`() async throws {
    try await prepare()
    let left = try await test.write { try $0.rooms.end(alice.id, tea) }
    #expect(left == LeftRoom(wasMember: true, successor: bob.id))
    #expect(try await roles() == ["bob": .owner, "carol": .member])
    #expect(try await test.write { try $0.rooms.end(carol.id, tea) } == LeftRoom(wasMember: true))
    #expect(try await test.write { try $0.rooms.end(carol.id, tea) } == LeftRoom(wasMember: false))
  }

  @Test func `the longest membership is the earliest one, also if the clock was set back after it`() async throws {
    let draft = RoomDraft(room: tea, epoch: "e", details: RoomDetails(join: .open), creator: alice, members: [])
    try await test.write { _ = try $0.rooms.make(draft) }
    for user in [carol, bob] {
      let now = test.clocks.now
      try await test.write { _ = try $0.rooms.join(user, room: tea, epoch: "e", now: now) }
      test.clocks.set(by: .seconds(-3_600))
    }
    #expect(try await test.write { try $0.rooms.end(alice.id, tea) }.successor == carol.id)
  }

  @Test func `another owner stays the only one`() async throws {
    try await prepare()
    try await test.write { try $0.rooms.setRole(.owner, of: carol.id, in: tea, by: .backend) }
    #expect(try await test.write { try $0.rooms.end(alice.id, tea) } == LeftRoom(wasMember: true))
    #expect(try await roles() == ["bob": .moderator, "carol": .owner])
  }

  @Test func `the first member of a room without members becomes its owner`() async throws {
    try await prepare(join: .open)
    try await test.write { transaction in
      _ = try transaction.messages.append(draft(in: tea))
      for user in [alice, bob, carol] { _ = try transaction.rooms.end(user.id, tea) }
    }
    let joined = try await test.write { try $0.rooms.join(dave, room: tea, epoch: "e", now: .at(9)) }
    #expect(joined.role == .owner)
    #expect(try await test.write { try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(9)) }.role == .member)
  }

  @Test func `a room of a first join has no owner, and a record gives it none`() async throws {
    try await test.write {
      try $0.prepareRoom()
      _ = try $0.rooms.update(room, RoomChange(title: "Tea"), by: .backend)
    }
    #expect(try await test.write { try $0.rooms.end(alice.id, room) } == LeftRoom(wasMember: true))
    #expect(try await test.write { try $0.rooms.join(carol, room: room, epoch: "e", now: .at(9)) }.role == .member)
  }

  // MARK: Adding and removing

  @Test func `a moderator adds a user to an invited room, and a member does not`() async throws {
    try await prepare()
    let (moderator, member) = (actor(bob), actor(carol))
    await expect(.needs(.moderator)) {
      try $0.rooms.add(dave, to: tea, by: member, now: .at(1), within: MembershipBounds())
    }
    let added = try #require(
      try await test.write {
        try $0.rooms.add(dave, to: tea, by: moderator, now: .at(1), within: MembershipBounds())
      }.member)
    #expect(added.isNewMember)
    #expect(added.role == .member)
    await #expect(throws: StoreError.tooMany(.membersPerRoom)) {
      try await self.test.write {
        let eve = User(id: UserID(unchecked: "eve"))
        _ = try $0.rooms.add(eve, to: tea, by: moderator, now: .at(1), within: MembershipBounds(membersPerRoom: 4))
      }
    }
  }

  @Test func `a user who has blocked the caller is not added, and sees no invitation`() async throws {
    try await prepare()
    let moderator = actor(bob)
    try await test.write { try $0.people.block(bob.id, by: dave.id) }
    let added = try await test.write {
      try $0.rooms.add(dave, to: tea, by: moderator, now: .at(1), within: MembershipBounds())
    }
    #expect(added.member == nil)
    #expect(try await test.read { try $0.invitations.page(of: dave.id, limit: 9) }.invitations == [])
    #expect(try await test.read { try !$0.rooms.isMember(dave.id, of: tea) })
    #expect(
      try await test.write { try $0.rooms.add(dave, to: tea, by: .backend, now: .at(1), within: .init()) }.member?
        .isNewMember
        == true)
  }

  /// The role of the caller, and the users that the caller may remove.
  @Test(arguments: [(alice, ["bob", "carol"]), (bob, ["carol"]), (carol, [])])
  func `a role removes the lower roles`(caller: User, removed: [String]) async throws {
    for name in ["alice", "bob", "carol"] where name != caller.id.rawValue {
      let test = try TestStore()
      let other = RoomRoleTests(test: test)
      try await other.prepare()
      let (user, actor) = (UserID(unchecked: name), actor(caller))
      let isRemoved = (try? await test.write { try $0.rooms.remove(user, from: tea, by: actor) })?.wasMember ?? false
      #expect(isRemoved == removed.contains(name), "\(name)")
    }
  }

  private init(test: TestStore) { self.test = test }

  @Test func `nobody but a backend removes or bans an owner`() async throws {
    try await prepare()
    try await test.write { try $0.rooms.setRole(.owner, of: bob.id, in: tea, by: .backend) }
    let owner = actor(alice)
    await expect(.isOwner) { try $0.rooms.remove(bob.id, from: tea, by: owner) }
    await expect(.isOwner) { try $0.rooms.remove(bob.id, from: tea, by: owner, ban: RoomBan()) }
    let removed = try await test.write {
      _ = try $0.rooms.remove(bob.id, from: tea, by: .backend, ban: RoomBan())
      return try $0.rooms.remove(alice.id, from: tea, by: .backend)
    }
    #expect(removed == LeftRoom(wasMember: true, successor: carol.id))
  }

  @Test func `a direct room keeps its two people`() async throws {
    let pair = RoomDraft(
      room: tea, epoch: "e", details: RoomDetails(kind: .direct, join: .invited), creator: alice, members: [bob.id])
    try await test.write { _ = try $0.rooms.makeDirect(pair) }
    let caller = actor(alice)
    await expect(.isDirect) { try $0.rooms.remove(bob.id, from: tea, by: caller) }
    await expect(.isDirect) { try $0.rooms.add(carol, to: tea, by: caller, now: .at(0), within: .init()) }
    await expect(.isDirect) { try $0.rooms.setRole(.owner, of: alice.id, in: tea, by: .backend) }
    #expect(try await test.write { try $0.rooms.end(alice.id, tea) } == LeftRoom(wasMember: true))
  }

  @Test func `a backend brings back only the two people of a direct room`() async throws {
    let pair = RoomDraft(
      room: tea, epoch: "e", details: RoomDetails(kind: .direct, join: .invited), creator: alice, members: [bob.id])
    try await test.write {
      _ = try $0.rooms.makeDirect(pair)
      _ = try $0.rooms.end(bob.id, tea)
    }
    await expect(.isDirect) { try $0.rooms.add(carol, to: tea, by: .backend, now: .at(0), within: .init()) }
    #expect(
      try await test.write { try $0.rooms.add(bob, to: tea, by: .backend, now: .at(0), within: .init()) }.member?
        .isNewMember
        == true)
  }

  @Test func `the right moderate is nothing without the membership`() async throws {
    try await prepare()
    try await test.write { _ = try $0.rooms.remove(bob.id, from: tea, by: .backend) }
    let removed = RoomActor.user(bob.id, moderates: true)
    await #expect(throws: StoreError.notMember) {
      try await self.test.write { try $0.rooms.update(tea, RoomChange(), by: removed) }
    }
    await #expect(throws: StoreError.notMember) {
      try await self.test.write { try $0.rooms.remove(carol.id, from: tea, by: removed) }
    }
  }

  // MARK: Bans

  @Test func `a banned person does not come back to a direct room`() async throws {
    let pair = RoomDraft(
      room: tea, epoch: "e", details: RoomDetails(kind: .direct, join: .invited), creator: alice, members: [bob.id])
    try await test.write {
      _ = try $0.rooms.makeDirect(pair)
      _ = try $0.messages.append(draft(in: tea))
      _ = try $0.rooms.remove(bob.id, from: tea, by: .backend, ban: RoomBan())
    }
    await expect(.banned(until: nil)) { try $0.rooms.makeDirect(pair) }
  }

  @Test func `a banned user joins neither an open room nor again, until somebody adds the user`() async throws {
    try await prepare(join: .open)
    let moderator = actor(bob)
    for user in [carol, dave] {
      try await test.write { _ = try $0.rooms.remove(user.id, from: tea, by: moderator, ban: RoomBan()) }
      await expect(.banned(until: nil)) { try $0.rooms.join(user, room: tea, epoch: "e", now: .at(0)) }
    }
    _ = try await test.write { try $0.rooms.add(carol, to: tea, by: moderator, now: .at(1), within: .init()) }
    try await test.write { _ = try $0.rooms.end(carol.id, tea) }
    #expect(try await test.write { try $0.rooms.join(carol, room: tea, epoch: "e", now: .at(0)) }.isNewMember)
  }

  @Test func `a ban has an end`() async throws {
    try await prepare(join: .open)
    try await test.write {
      _ = try $0.rooms.remove(carol.id, from: tea, by: .backend, ban: RoomBan(until: .at(1)))
      _ = try $0.rooms.remove(dave.id, from: tea, by: .backend, ban: RoomBan(until: .at(0)))
    }
    await expect(.banned(until: .at(1))) { try $0.rooms.join(carol, room: tea, epoch: "e", now: .at(0)) }
    #expect(try await test.write { try $0.rooms.join(dave, room: tea, epoch: "e", now: .at(0)) }.isNewMember)
  }

  @Test func `a room has a maximum of bans, and forgets those that have ended`() async throws {
    try await prepare()
    try await test.write { transaction in
      for number in 0..<RoomWriter.maxBanned {
        let end: Timestamp? = number == 0 ? .at(10) : nil
        let user = UserID(unchecked: "banned-\(number)")
        _ = try transaction.rooms.remove(user, from: tea, by: .backend, ban: RoomBan(until: end))
      }
    }
    await #expect(throws: StoreError.tooMany(.bannedUsers)) {
      try await self.test.write { _ = try $0.rooms.remove(dave.id, from: tea, by: .backend, ban: RoomBan()) }
    }
    try await test.write { try $0.db.execute(sql: "UPDATE bans SET until = 1 WHERE until IS NOT NULL") }
    try await test.write { _ = try $0.rooms.remove(dave.id, from: tea, by: .backend, ban: RoomBan()) }
  }
}
