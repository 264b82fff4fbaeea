// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

private let tea = RoomID(unchecked: "tea")
private let carol = User(id: UserID(unchecked: "carol"), name: "Carol")

/// Offers of memberships: their beginning, their ends, and the rooms that end with them.
@Suite struct InvitationTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func group(
    _ room: RoomID = tea, by creator: User = alice, inviting members: [UserID] = [bob.id], join: RoomJoin = .invited,
    limit: Int = 100
  ) -> RoomDraft {
    RoomDraft(
      room: room, epoch: "epoch", details: RoomDetails(join: join, title: "Tea"), creator: creator, members: members,
      invited: Set(members), bounds: MembershipBounds(invitations: limit))
  }

  private func pair(_ room: String = "direct.1", from user: User = alice, to other: UserID = bob.id) -> RoomDraft {
    RoomDraft(
      room: RoomID(unchecked: room), epoch: "epoch", details: RoomDetails(kind: .direct, join: .invited),
      creator: user, members: [other], invited: [other])
  }

  /// Gives users a row, as their first session does.
  private func meet(_ users: User...) async throws {
    try await test.write { for user in users { try $0.people.touch(user.id, lastSeen: .at(0)) } }
    try await test.write { for user in users { try $0.people.rename(user) } }
  }

  private func count(_ table: String) async throws -> Int {
    try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM \(table)") ?? -1 }
  }

  private func seen(by user: UserID) async throws -> [Invitation] {
    try await test.read { try $0.invitations.page(of: user, limit: 200) }.invitations
  }

  private func expect<T: Sendable>(
    _ error: StoreError, sourceLocation: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable (Transaction) throws -> T
  ) async {
    await #expect(throws: error, sourceLocation: sourceLocation) { try await self.test.write(work) }
  }

  /// Deletes the rows of deleted rooms.
  private func sweep() async throws {
    while try await test.write({ try $0.rooms.sweepDeleted() }) {}
  }

  // MARK: Beginning

  @Test func `an invited user is no member, and sees who invites to which room`() async throws {
    try await meet(alice, bob)
    let draft = group()
    let made = try await test.write { try $0.rooms.make(draft) }
    #expect(made.added == [alice.id])
    let own = try #require(made.invitations.made.first)
    #expect(made.invitations.made.count == 1 && own.user == bob.id)
    let found = try #require(try await seen(by: bob.id).first)
    #expect(own.invitation == found)
    #expect(found.room == tea && found.details.title == "Tea" && found.memberCount == 1)
    #expect(found.inviter == alice && found.time == TestStore.time)
    #expect(try await test.read { try $0.invitations.count(of: bob.id) } == 1)
    #expect(try await test.read { try !$0.rooms.isMember(bob.id, of: tea) })
    #expect(try await test.read { try $0.rooms.names(of: bob.id) } == [])
    #expect(try await test.read { try $0.inbox.rooms(of: bob.id, limit: 9, now: .at(0)) }.entries == [])
    let invited = try await test.read { try $0.invitations.invited(to: tea, limit: 9) }
    #expect(invited == [InvitedUser(user: bob.id, inviter: alice.id, time: TestStore.time)])
  }

  @Test func `a second invitation to the same room changes nothing`() async throws {
    try await meet(bob)
    let (draft, moderator) = (group(), RoomActor.user(alice.id, moderates: false))
    try await test.write { _ = try $0.rooms.make(draft) }
    let before = try await seen(by: bob.id)
    test.clocks.pass(.seconds(1))
    let again = try await test.write {
      try $0.rooms.add(bob, to: tea, by: moderator, now: .at(1), within: .init(), invites: true)
    }
    #expect(again == .invited(InvitationChanges()))
    #expect(try await seen(by: bob.id) == before)
  }

  @Test func `the newest invitations are the first, in pages`() async throws {
    try await meet(bob)
    for number in 1...5 {
      let draft = group(RoomID(unchecked: "room-\(number)"))
      try await test.write { _ = try $0.rooms.make(draft) }
    }
    var (rooms, next, pages): ([String], Int64?, Int) = ([], .max, 0)
    while let before = next {
      let page = try await test.read { try $0.invitations.page(of: bob.id, before: before, limit: 2) }
      rooms += page.invitations.map(\.room.rawValue)
      (next, pages) = (page.next, pages + 1)
    }
    #expect(rooms == ["room-5", "room-4", "room-3", "room-2", "room-1"])
    #expect(pages == 3)
  }

  @Test func `a user has a maximum of invitations, and a new one ends the oldest`() async throws {
    try await meet(bob)
    for number in 1...2 {
      let draft = group(RoomID(unchecked: "room-\(number)"), limit: 2)
      #expect(try await test.write { try $0.rooms.make(draft) }.invitations.ended == [])
    }
    let draft = group(RoomID(unchecked: "room-3"), limit: 2)
    let made = try await test.write { try $0.rooms.make(draft) }
    let first = RoomID(unchecked: "room-1")
    #expect(
      made.invitations.ended == [
        EndedInvitation(user: bob.id, room: first, cause: .replaced, isHidden: false)
      ])
    #expect(try await seen(by: bob.id).map(\.room.rawValue) == ["room-3", "room-2"])
    // Its owner stays.
    #expect(made.invitations.deletedRooms == [])
  }

  @Test func `a room has a maximum of invitations`() async throws {
    let draft = group(inviting: (1...InvitationWriter.maxOfRoom).map { UserID(unchecked: "name-\($0)") })
    try await test.write { _ = try $0.rooms.make(draft) }
    await expect(.tooMany(.invitedUsers)) {
      try $0.rooms.add(
        bob, to: tea, by: .user(alice.id, moderates: false), now: .at(0), within: .init(), invites: true)
    }
    #expect(try await count("invitations") == InvitationWriter.maxOfRoom)
  }

  @Test(
    arguments: [
      (InvitationPolicy.all, ["bob", "carol", "made-up"]), (.unknown, ["carol", "made-up"]), (.none, []),
    ])
  func `the policy says who is invited`(policy: InvitationPolicy, strangers: [String]) async throws {
    try await meet(carol)
    try await test.write { try $0.prepareRoom() }
    let others = [bob.id, carol.id, UserID(unchecked: "made-up")]
    let found = try await test.read {
      try $0.invitations.strangers(to: alice.id, among: others, policy, in: nil)
    }
    #expect(found.all == Set(strangers.map(UserID.init(unchecked:))) && found.new == found.all)
    // An invited user and a member are not new.
    let draft = group(inviting: [carol.id])
    try await test.write { _ = try $0.rooms.make(draft) }
    let again = try await test.read {
      try $0.invitations.strangers(to: alice.id, among: others + [alice.id], .all, in: tea)
    }
    #expect(again.all.count == 4)
    #expect(again.new == [bob.id, UserID(unchecked: "made-up")])
  }

  // MARK: Acceptance

  @Test func `a join accepts an invitation, also to an invited room`() async throws {
    try await meet(bob)
    let draft = group()
    try await test.write { transaction in
      _ = try transaction.rooms.make(draft)
      for _ in 1...3 { _ = try transaction.messages.append(RelayStoreTests.draft(in: tea)) }
    }
    let joined = try await test.write {
      try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(1), mayCreate: false, needsInvitation: true)
    }
    #expect(joined.isNewMember && joined.role == .member)
    #expect(
      joined.invitations.ended == [EndedInvitation(user: bob.id, room: tea, cause: .accepted, isHidden: false)])
    // The messages since the invitation are new to the user.
    #expect(joined.read == 0 && joined.received == 0 && joined.record.seq == 3)
    let list = try await test.read { try $0.inbox.rooms(of: bob.id, limit: 9, now: .at(0)) }
    #expect(list.entries.map(\.unread.messages) == [3])
    #expect(try await seen(by: bob.id) == [])
    // Another device of the user accepts as well.
    let again = try await test.write {
      try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(1), mayCreate: false, needsInvitation: true)
    }
    #expect(!again.isNewMember)
  }

  @Test func `the read mark of a new member is that of the invitation`() async throws {
    try await meet(bob)
    let draft = group(inviting: [])
    let joined = try await test.write { transaction in
      _ = try transaction.rooms.make(draft)
      for number in 1...5 {
        _ = try transaction.messages.append(RelayStoreTests.draft(in: tea))
        guard number == 2 else { continue }
        _ = try transaction.rooms.add(
          bob, to: tea, by: .user(alice.id, moderates: false), now: .at(0), within: .init(), invites: true)
      }
      return try transaction.rooms.join(bob, room: tea, epoch: "e", now: .at(1))
    }
    #expect(joined.read == 2)
  }

  @Test func `only an invited user accepts`() async throws {
    let draft = group(join: .open)
    try await test.write { _ = try $0.rooms.make(draft) }
    await expect(.refused(.noInvitation)) {
      try $0.rooms.join(carol, room: tea, epoch: "e", now: .at(0), mayCreate: false, needsInvitation: true)
    }
    await expect(.noRoom(room)) {
      try $0.rooms.join(carol, room: room, epoch: "e", now: .at(0), mayCreate: false, needsInvitation: true)
    }
    #expect(try await test.write { try $0.rooms.join(carol, room: tea, epoch: "e", now: .at(0)) }.isNewMember)
  }

  @Test func `an invitation stays while a limit forbids the membership`() async throws {
    try await meet(bob)
    let draft = group()
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.make(draft)
    }
    for (bounds, limit) in [
      (MembershipBounds(membersPerRoom: 1), MembershipBounds.Limit.membersPerRoom),
      (MembershipBounds(roomsPerUser: 1), .roomsPerUser),
    ] {
      await expect(.tooMany(limit)) {
        try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(0), within: bounds, needsInvitation: true)
      }
      #expect(try await seen(by: bob.id).count == 1)
    }
  }

  @Test func `an invitation ends a ban when the user accepts`() async throws {
    try await meet(bob)
    let (draft, owner) = (group(inviting: [], join: .open), RoomActor.user(alice.id, moderates: false))
    try await test.write {
      _ = try $0.rooms.make(draft)
      _ = try $0.rooms.remove(bob.id, from: tea, by: owner, ban: RoomBan())
      _ = try $0.rooms.add(bob, to: tea, by: owner, now: .at(0), within: .init(), invites: true)
    }
    #expect(try await count("bans") == 1)
    #expect(try await test.write { try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(0)) }.isNewMember)
    #expect(try await count("bans") == 0)
  }

  @Test func `a backend that makes an invited user a member ends the invitation`() async throws {
    try await meet(bob)
    let draft = group()
    try await test.write { _ = try $0.rooms.make(draft) }
    let added = try await test.write {
      try $0.rooms.add(bob, to: tea, by: .backend, now: .at(0), within: .init(), invites: true)
    }
    #expect(added.member?.invitations.ended.map(\.cause) == [.accepted])
    #expect(try await count("invitations") == 0)
  }

  // MARK: Other ends

  @Test func `a user declines, the inviter and a moderator withdraw, and others do not`() async throws {
    try await meet(bob, carol)
    let moderator = RoomActor.user(carol.id, moderates: false)
    var draft = group()
    (draft.members, draft.invited) = ([bob.id, carol.id], [bob.id])
    let room = draft
    try await test.write {
      _ = try $0.rooms.make(room)
      #expect(try $0.invitations.withdraw(bob.id, from: tea, by: carol.id) == InvitationChanges())
    }
    await expect(.refused(.needs(.moderator))) { try $0.rooms.remove(bob.id, from: tea, by: moderator) }
    #expect(try await test.read { try $0.invitations.hasInvited(bob.id, to: tea, alice.id) })
    let withdrawn = try await test.write { try $0.invitations.withdraw(bob.id, from: tea, by: alice.id) }
    #expect(withdrawn.ended.map(\.cause) == [.withdrawn])
    for cause in [InvitationEnd.declined, .withdrawn] {
      try await test.write {
        _ = try $0.rooms.setRole(.moderator, of: carol.id, in: tea, by: .backend)
        _ = try $0.rooms.add(bob, to: tea, by: moderator, now: .at(0), within: .init(), invites: true)
      }
      let ended = try await test.write {
        try cause == .declined
          ? $0.invitations.decline(tea, by: bob.id) : $0.rooms.remove(bob.id, from: tea, by: moderator).invitations
      }
      #expect(ended.ended == [EndedInvitation(user: bob.id, room: tea, cause: cause, isHidden: false)])
      #expect(ended.deletedRooms == [])
    }
    #expect(try await test.write { try $0.invitations.decline(tea, by: bob.id) } == InvitationChanges())
  }

  @Test func `a ban ends an invitation`() async throws {
    let draft = group()
    try await test.write { _ = try $0.rooms.make(draft) }
    let left = try await test.write {
      try $0.rooms.remove(bob.id, from: tea, by: .user(alice.id, moderates: false), ban: RoomBan())
    }
    #expect(!left.wasMember && left.invitations.ended.map(\.cause) == [.withdrawn])
  }

  // MARK: Blocks

  @Test func `a user who has blocked the inviter sees nothing, and the inviter sees no difference`() async throws {
    try await meet(alice, bob, carol)
    try await test.write { try $0.people.block(alice.id, by: bob.id) }
    var draft = group(inviting: [bob.id, carol.id])
    draft.details.join = .open
    let (room, direct) = (draft, pair())
    let made = try await test.write { try $0.rooms.make(room) }
    #expect(made.invitations.made.map { $0.invitation == nil } == [true, false])
    let invited = try await test.read { try $0.invitations.invited(to: tea, limit: 9) }
    #expect(Set(invited.map(\.user)) == [bob.id, carol.id])
    #expect(try await test.write { try $0.rooms.makeDirect(direct) }.isNew)
    #expect(try await seen(by: bob.id) == [])
    #expect(try await test.read { try $0.invitations.count(of: bob.id) } == 0)
    #expect(try await test.read { try !$0.invitations.isInvited(bob.id, to: tea) })
    #expect(try await test.write { try $0.invitations.decline(tea, by: bob.id) } == InvitationChanges())
    await expect(.refused(.invited)) { try $0.rooms.join(bob, room: direct.room, epoch: "e", now: .at(0)) }
    // An open room has no secret. The invitation ends, and its user has read the room as every other new member.
    let joined = try await test.write { transaction in
      _ = try transaction.messages.append(RelayStoreTests.draft(in: tea))
      return try transaction.rooms.join(bob, room: tea, epoch: "e", now: .at(0))
    }
    #expect(joined.read == 1 && joined.invitations.ended.map(\.isHidden) == [true])
    #expect(try await test.read { try $0.invitations.invited(to: tea, limit: 9) }.map(\.user) == [carol.id])
  }

  @Test func `a block ends the invitations by this user, and an unblock does not bring them back`() async throws {
    try await meet(alice, bob, carol)
    let (draft, other) = (group(), group(room, by: carol))
    try await test.write {
      _ = try $0.rooms.make(draft)
      _ = try $0.rooms.make(other)
    }
    let changes = try await test.write {
      try $0.people.block(alice.id, by: bob.id)
      return try $0.invitations.hide(from: bob.id, by: alice.id, limit: 9)
    }
    #expect(changes.ended == [EndedInvitation(user: bob.id, room: tea, cause: .blocked, isHidden: false)])
    #expect(try await seen(by: bob.id).map(\.room) == [room])
    #expect(try await test.read { try $0.invitations.invited(to: tea, limit: 9) }.map(\.user) == [bob.id])
    try await test.write { try $0.people.unblock(alice.id, by: bob.id) }
    #expect(try await seen(by: bob.id).map(\.room) == [room])
    // A new invitation shows itself.
    let again = try await test.write {
      try $0.rooms.add(
        bob, to: tea, by: .user(alice.id, moderates: false), now: .at(0), within: .init(), invites: true)
    }
    guard case .invited(let invited) = again else { return #expect(Bool(false), "\(again)") }
    #expect(invited.made.map(\.invitation?.room) == [tea])
    #expect(try await seen(by: bob.id).map(\.room) == [tea, room])
    // To the inviter, nothing is new.
    #expect(invited.made.map(\.isFirst) == [false])
    #expect(try await test.read { try $0.invitations.invited(to: tea, limit: 9) }.count == 1)
  }

  @Test(arguments: [false, true])
  func `two inviters see no difference if the user has blocked the first one`(isBlocked: Bool) async throws {
    try await meet(alice, bob, carol)
    let draft = group()
    try await test.write {
      if isBlocked { try $0.people.block(alice.id, by: bob.id) }
      _ = try $0.rooms.make(draft)
      _ = try $0.rooms.add(carol, to: tea, by: .backend, now: .at(0), within: .init(), invites: false)
    }
    let first = try await test.read { try $0.invitations.invited(to: tea, limit: 9) }
    let added = try await test.write {
      try $0.rooms.add(
        bob, to: tea, by: .user(carol.id, moderates: true), now: .at(5), within: .init(), invites: true)
    }
    guard case .invited(let changes) = added else { return #expect(Bool(false), "\(added)") }
    #expect(changes.made.filter(\.isFirst).isEmpty)
    #expect(try await test.read { try $0.invitations.invited(to: tea, limit: 9) } == first)
    #expect(first.map(\.inviter) == [alice.id])
    #expect(try await seen(by: bob.id).map(\.inviter) == [isBlocked ? carol : alice])
    #expect(try await test.read { try !$0.invitations.hasInvited(bob.id, to: tea, carol.id) })
    // The user ends both, so that nobody is invited any more.
    let ended = try await test.write { try $0.invitations.decline(tea, by: bob.id) }
    #expect(ended.ended.map(\.isHidden) == (isBlocked ? [true, false] : [false]))
    #expect(try await count("invitations") == 0)
  }

  @Test func `a block hides an invitation beside a hidden one`() async throws {
    try await meet(alice, bob, carol)
    let draft = group()
    let changes = try await test.write {
      try $0.people.block(alice.id, by: bob.id)
      _ = try $0.rooms.make(draft)
      _ = try $0.rooms.add(carol, to: tea, by: .backend, now: .at(0), within: .init(), invites: false)
      _ = try $0.rooms.add(
        bob, to: tea, by: .user(carol.id, moderates: true), now: .at(5), within: .init(), invites: true)
      try $0.people.block(carol.id, by: bob.id)
      return try $0.invitations.hide(from: bob.id, by: carol.id, limit: 9)
    }
    #expect(changes.ended.map(\.cause) == [.blocked])
    #expect(try await test.read { try $0.invitations.invited(to: tea, limit: 9) }.map(\.inviter) == [alice.id])
    #expect(try await seen(by: bob.id) == [])
  }

  @Test func `a direct room shows both people if one of them has blocked the other`() async throws {
    try await meet(alice, bob)
    var draft = pair()
    draft.invited = []
    let known = draft
    let room = try await test.write {
      try $0.people.block(alice.id, by: bob.id)
      return try $0.rooms.makeDirect(known).state.room
    }
    let page = try await test.read { try $0.inbox.rooms(of: alice.id, limit: 9, now: .at(0)) }
    #expect(page.entries.map(\.room) == [room])
    #expect(page.entries.first?.other?.name == bob.name)
    #expect(try await count("invitations WHERE is_hidden") == 1)
  }

  @Test func `hidden invitations have a limit of their own`() async throws {
    try await meet(alice, bob, carol)
    try await test.write { try $0.people.block(alice.id, by: bob.id) }
    let visible = group(room, by: carol, limit: 2)
    try await test.write { _ = try $0.rooms.make(visible) }
    for number in 1...3 {
      let draft = group(RoomID(unchecked: "room-\(number)"), limit: 2)
      let ended = try await test.write { try $0.rooms.make(draft) }.invitations.ended
      #expect(ended.map(\.room.rawValue) == (number == 3 ? ["room-1"] : []))
    }
    #expect(try await seen(by: bob.id).map(\.room) == [room])
    #expect(try await count("invitations WHERE is_hidden") == 2)
  }

  // MARK: Made-up names

  @Test func `made-up names have no rows, and nothing is left of a room without a message`() async throws {
    let names = (1...1_000).map { UserID(unchecked: "name-\($0)") }
    try await meet(alice)
    let direct = pair(to: UserID(unchecked: "made-up"))
    for start in stride(from: 0, to: names.count, by: 100) {
      let draft = group(RoomID(unchecked: "room-\(start)"), inviting: Array(names[start..<(start + 100)]))
      try await test.write { _ = try $0.rooms.make(draft) }
    }
    try await test.write { _ = try $0.rooms.makeDirect(direct) }
    #expect(try await count("users") == 1)
    #expect(try await count("invitations") == 1_001)
    let rooms = try await test.read { try $0.rooms.names(of: alice.id) }
    for room in rooms {
      let left = try await test.write { try $0.rooms.end(alice.id, room) }
      #expect(left.invitations.deletedRooms == [room])
      #expect(left.invitations.ended.count == (room == direct.room ? 1 : 100))
    }
    try await sweep()
    for table in ["invitations", "rooms", "members", "details", "directs", "activity"] {
      #expect(try await count(table) == 0, "\(table)")
    }
    #expect(try await count("users") == 1)
  }

  @Test func `a room with messages stays until its last invitation has ended`() async throws {
    let draft = group(inviting: [UserID(unchecked: "made-up"), UserID(unchecked: "other")])
    try await test.write { transaction in
      _ = try transaction.rooms.make(draft)
      for _ in 1...3 { _ = try transaction.messages.append(RelayStoreTests.draft(in: tea)) }
      #expect(try transaction.rooms.end(alice.id, tea).invitations == InvitationChanges())
    }
    #expect(try await test.read { try $0.rooms.snapshot(tea) } != nil)
    test.clocks.pass(InvitationWriter.lifetime - .milliseconds(1))
    #expect(try await test.write { try $0.invitations.expire() }.changes == InvitationChanges())
    test.clocks.pass(.milliseconds(1))
    let expired = try await test.write { try $0.invitations.expire() }
    #expect(expired.changes.ended.map(\.cause) == [.expired, .expired] && !expired.more)
    #expect(expired.changes.deletedRooms == [tea])
    try await sweep()
    for table in ["invitations", "rooms", "messages", "details"] {
      #expect(try await count(table) == 0, "\(table)")
    }
  }

  @Test func `a direct room with a made-up name ends with its only user`() async throws {
    let draft = pair(to: UserID(unchecked: "made-up"))
    try await test.write {
      _ = try $0.rooms.makeDirect(draft)
      _ = try $0.messages.append(RelayStoreTests.draft(in: draft.room))
    }
    test.clocks.pass(InvitationWriter.lifetime)
    #expect(try await test.write { try $0.invitations.expire() }.changes.deletedRooms == [])
    let left = try await test.write { try $0.rooms.end(alice.id, draft.room) }
    #expect(left.invitations.deletedRooms == [draft.room])
    try await sweep()
    #expect(try await count("rooms") == 0)
    #expect(try await count("directs") == 0)
  }

  @Test func `the invitation of a user who is known does not expire`() async throws {
    try await meet(bob)
    let draft = group(inviting: [bob.id, carol.id, UserID(unchecked: "made-up")])
    try await test.write { _ = try $0.rooms.make(draft) }
    test.clocks.pass(InvitationWriter.lifetime - .seconds(1))
    // The first session, device or token of a user.
    try await meet(carol)
    test.clocks.pass(.seconds(1))
    let expired = try await test.write { try $0.invitations.expire() }.changes.ended
    #expect(expired.map(\.user.rawValue) == ["made-up"])
    #expect(try await seen(by: carol.id).count == 1)
  }

  @Test func `a ban of a made-up name is no use of the name`() async throws {
    try await meet(alice)
    let name = UserID(unchecked: "made-up")
    let draft = group(inviting: [])
    try await test.write {
      _ = try $0.rooms.make(draft)
      _ = try $0.rooms.remove(name, from: tea, by: .user(alice.id, moderates: false), ban: RoomBan())
      _ = try $0.rooms.add(
        User(id: name), to: tea, by: .user(alice.id, moderates: false), now: .at(0), within: .init(), invites: true)
    }
    #expect(try await count("users WHERE is_only_named") == 1)
    #expect(try await count("invitations WHERE expires IS NOT NULL") == 1)
    try await test.write { try $0.people.touch(name, lastSeen: .at(1)) }
    #expect(try await count("users WHERE is_only_named") == 0)
    #expect(try await count("invitations WHERE expires IS NOT NULL") == 0)
  }

  @Test func `a step of the wall clock ends no invitation`() async throws {
    let draft = group(inviting: [UserID(unchecked: "made-up")])
    try await test.write { _ = try $0.rooms.make(draft) }
    test.clocks.set(by: .seconds(40 * 86_400))
    #expect(try await test.write { try $0.invitations.expire() }.changes.ended == [])
    // Deletion by age waits for a day after the step.
    test.clocks.pass(InvitationWriter.lifetime - .seconds(1))
    #expect(try await test.write { try $0.invitations.expire() }.changes.ended == [])
    test.clocks.pass(.seconds(1))
    #expect(try await test.write { try $0.invitations.expire() }.changes.ended.count == 1)
  }

  @Test func `an expiry works in slices`() async throws {
    let draft = group(inviting: (1...100).map { UserID(unchecked: "name-\($0)") })
    try await test.write { _ = try $0.rooms.make(draft) }
    test.clocks.pass(InvitationWriter.lifetime)
    let slices = try await test.write { transaction in
      [try transaction.invitations.expire(), try transaction.invitations.expire()]
    }
    #expect(slices.map(\.changes.ended.count) == [64, 36] && slices.map(\.more) == [true, false])
  }

  @Test func `the last member or the last invitation ends a room, whichever is later`() async throws {
    try await meet(bob, carol)
    let draft = group()
    try await test.write {
      _ = try $0.rooms.make(draft)
      _ = try $0.messages.append(RelayStoreTests.draft(in: tea))
      _ = try $0.rooms.end(alice.id, tea)
    }
    #expect(try await test.write { try $0.invitations.decline(tea, by: bob.id) }.deletedRooms == [tea])
    // After an acceptance the room is like any other: it stays with its messages.
    let other = group(room)
    try await test.write {
      _ = try $0.rooms.make(other)
      _ = try $0.messages.append(RelayStoreTests.draft())
      _ = try $0.rooms.join(bob, room: room, epoch: "e", now: .at(0))
      for user in [alice, bob] { _ = try $0.rooms.end(user.id, room) }
    }
    try await sweep()
    #expect(try await test.read { try $0.rooms.snapshot(room) }?.members.isEmpty == true)
  }

  @Test func `a user who accepts after all have left owns the group`() async throws {
    try await meet(bob)
    let draft = group()
    try await test.write {
      _ = try $0.rooms.make(draft)
      _ = try $0.messages.append(RelayStoreTests.draft(in: tea))
      _ = try $0.rooms.end(alice.id, tea)
    }
    #expect(try await test.write { try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(0)) }.role == .owner)
  }

  @Test func `a sweep of unused rooms leaves a room with an invitation`() async throws {
    try await meet(bob)
    let draft = group()
    try await test.write {
      _ = try $0.rooms.make(draft)
      try $0.db.execute(sql: "DELETE FROM members")
    }
    #expect(try await test.read { try $0.rooms.aging(after: 0, limit: 9) }.rooms.map(\.isUnused) == [false])
    #expect(try await test.write { try !$0.rooms.forgetIfUnused(tea) })
  }

  @Test func `a deleted room has no invitations`() async throws {
    try await meet(bob)
    let draft = group()
    try await test.write {
      _ = try $0.rooms.make(draft)
      #expect(try $0.reader.invitations.users(invitedTo: tea) == [bob.id])
      try $0.rooms.delete(tea, by: .backend)
    }
    #expect(try await seen(by: bob.id) == [])
    #expect(try await test.read { try $0.invitations.count(of: bob.id) } == 0)
    await expect(.noRoom(tea)) {
      try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(0), mayCreate: false, needsInvitation: true)
    }
    try await sweep()
    #expect(try await count("invitations") == 0)
  }

  // MARK: Direct rooms

  @Test func `a direct room shows two people, and no name before both were members`() async throws {
    try await meet(alice, bob)
    let draft = pair()
    let made = try await test.write { try $0.rooms.makeDirect(draft) }
    #expect(made.isNew && made.added == [alice.id])
    #expect(made.invitations.made.map(\.invitation?.memberCount) == [2])
    func entry(of user: UserID) async throws -> InboxEntry? {
      try await test.read { try $0.inbox.rooms(of: user, limit: 9, now: .at(0)) }.entries.first
    }
    let before = try #require(try await entry(of: alice.id))
    #expect(before.other == User(id: bob.id) && before.memberCount == 2)
    #expect(try await test.read { try $0.rooms.snapshot(draft.room) }?.pair == RoomPair(low: alice.id, high: bob.id))
    #expect(try await test.read { try $0.rooms.direct(of: bob.id, alice.id) }?.isComplete == false)
    // The other person opens the same room, and thereby accepts.
    let answer = pair("direct.2", from: bob, to: alice.id)
    let found = try await test.write { transaction in
      _ = try transaction.messages.append(RelayStoreTests.draft(in: draft.room))
      return try transaction.rooms.makeDirect(answer)
    }
    #expect(!found.isNew && found.state.room == draft.room && found.added == [bob.id])
    #expect(found.read == [bob.id: 0] && found.invitations.ended.map(\.cause) == [.accepted])
    #expect(try await entry(of: alice.id)?.other == bob)
    #expect(try await entry(of: bob.id)?.other == alice)
    // A user who has left is still the other person.
    try await test.write { _ = try $0.rooms.end(bob.id, draft.room) }
    let after = try #require(try await entry(of: alice.id))
    #expect(after.other == bob && after.memberCount == 2)
  }

  @Test func `two people who invite each other have one room`() async throws {
    let drafts = [pair(), pair("direct.2", from: bob, to: alice.id)]
    try await test.write { for draft in drafts { _ = try $0.rooms.makeDirect(draft) } }
    #expect(try await count("rooms") == 1)
    #expect(try await count("members") == 2)
    #expect(try await count("invitations") == 0)
  }

  // MARK: Pushes

  /// Stores the push of Bob's only invitation, and returns its job.
  private func push(isHeld: Bool = false) async throws -> String {
    try await test.write { transaction in
      let open = try transaction.reader.invitations.undecided(after: 0, limit: 9)
      #expect(open.map(\.user) == [bob.id] && open.map(\.invitation.room) == [tea])
      var job = job()
      job.isHeld = isHeld
      var notification = RelayStoreTests.draft(in: .notifications(of: bob.id), jobs: [job], cursorFollows: true)
      notification.push = PushRequest(kind: .invitation)
      #expect(try transaction.invitations.decide(open[0].invitation.id, posting: notification, epoch: "e"))
      #expect(try !transaction.invitations.decide(open[0].invitation.id, posting: nil, epoch: "e"))
      return try transaction.db.first("SELECT id FROM jobs WHERE kind = 'push'")?["id"] ?? ""
    }
  }

  private func prepareInvitation() async throws {
    let draft = group()
    try await test.write {
      try $0.devices.register(phone(), of: bob.id, now: .at(0))
      _ = try $0.rooms.make(draft)
    }
  }

  @Test(arguments: [false, true])
  func `the end of an invitation cancels its push`(isHeld: Bool) async throws {
    try await prepareInvitation()
    let job = try await push(isHeld: isHeld)
    #expect(try await test.read { try $0.invitations.undecided(after: 0, limit: 9) } == [])
    let wakes = Mutex(0)
    test.store.listenToUpdates { wakes.withLock { $0 += 1 } }
    _ = try await test.write { try $0.invitations.decline(tea, by: bob.id) }
    let record = try #require(try await test.read { try $0.queue.job(job) })
    #expect(record.state == .cancelled && record.note == "the invitation has ended")
    // The next notification of the user is not in line behind it any more.
    #expect(wakes.withLock { $0 } > 0)
  }

  @Test func `the end of an invitation removes its notification`() async throws {
    try await prepareInvitation()
    let job = try await push()
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(1), leaseUntil: .at(9)) }
    #expect(claims.map(\.shown?.collapse) == [MessageReference(room: tea, seq: 0)])
    try await test.write { _ = try $0.queue.finish(job, state: .sent, now: .at(1)) }
    _ = try await test.write { try $0.invitations.withdraw(bob.id, from: tea, by: alice.id) }
    let updates = try await test.write { try $0.updates.claim(limit: 9, now: .at(2), leaseUntil: .at(9)) }
    #expect(updates.map(\.removals.removed) == [[MessageReference(room: tea, seq: 0)]])
  }

  @Test func `a push that is on its way is removed when it has arrived`() async throws {
    try await prepareInvitation()
    let job = try await push()
    try await test.write {
      _ = try $0.queue.claim(limit: 9, now: .at(1), leaseUntil: .at(9))
      _ = try $0.invitations.decline(tea, by: bob.id)
      _ = try $0.queue.finish(job, state: .sent, now: .at(2))
    }
    var removed: [MessageReference] = []
    for _ in 1...3 {
      for claim in try await test.write({ try $0.updates.claim(limit: 9, now: .at(3), leaseUntil: .at(9)) }) {
        removed += claim.removals.removed
        try await test.write { try $0.updates.finish(claim) }
      }
    }
    #expect(removed == [MessageReference(room: tea, seq: 0)])
  }

  @Test func `a hidden invitation and a made-up name get no push`() async throws {
    try await meet(bob)
    try await test.write { try $0.people.block(alice.id, by: bob.id) }
    let draft = group(inviting: [bob.id, UserID(unchecked: "made-up")])
    try await test.write { _ = try $0.rooms.make(draft) }
    #expect(try await test.read { try $0.invitations.undecided(after: 0, limit: 9) } == [])
  }

  @Test func `the removal of an earlier notification does not remove that of a new invitation`() async throws {
    try await prepareInvitation()
    let job = try await push()
    try await test.write {
      _ = try $0.queue.claim(limit: 9, now: .at(1), leaseUntil: .at(9))
      _ = try $0.queue.finish(job, state: .sent, now: .at(1))
      _ = try $0.invitations.decline(tea, by: bob.id)
    }
    #expect(try await count("removals") == 1)
    try await test.write {
      _ = try $0.rooms.add(
        bob, to: tea, by: .user(alice.id, moderates: false), now: .at(3), within: .init(), invites: true)
    }
    _ = try await push()
    #expect(try await count("removals") == 0)
  }

  // MARK: Erasure and export

  @Test func `an erasure ends the invitations of a user and those by the user`() async throws {
    try await meet(alice, bob, carol)
    let drafts = [group(inviting: [bob.id, carol.id]), group(room, by: carol, inviting: [alice.id])]
    let pseudonym = UserID(unchecked: "erased-1")
    try await test.write {
      for draft in drafts { _ = try $0.rooms.make(draft) }
      _ = try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete)
    }
    await expect(.beingErased) {
      try $0.rooms.add(
        alice, to: room, by: .user(carol.id, moderates: false), now: .at(0), within: .init(), invites: true)
    }
    var ended: [EndedInvitation] = []
    while true {
      let slice = try await test.write { try $0.erasures.perform("e") }
      ended += slice.invitations.ended
      if slice.isLast { break }
    }
    #expect(
      Set(ended.map { "\($0.user) \($0.room) \($0.cause.rawValue)" }) == [
        "bob tea withdrawn", "carol tea withdrawn", "alice room withdrawn",
      ])
    #expect(try await count("invitations") == 0)
  }

  @Test(arguments: [1, 100]) func `an export has both sides of invitations`(entries: Int) async throws {
    try await meet(alice, bob)
    let drafts = [group(inviting: [bob.id, UserID(unchecked: "made-up")]), group(room, by: bob, inviting: [alice.id])]
    try await test.write { for draft in drafts { _ = try $0.rooms.make(draft) } }
    func exported(_ user: UserID) async throws -> [String] {
      var (position, found): (ExportPosition?, [String]) = (.start, [])
      while let from = position {
        let page = try #require(
          try await test.read { try $0.export.page(of: user, from: from, within: ExportBounds(entries: entries)) })
        for case .invitation(let room, let invited) in page.entries {
          found.append("\(invited.inviter) \(invited.user) \(room)")
        }
        position = page.next
      }
      return found
    }
    #expect(try await exported(alice.id) == ["alice bob tea", "alice made-up tea", "bob alice room"])
    #expect(try await exported(bob.id) == ["alice bob tea", "bob alice room"])
    #expect(try await exported(UserID(unchecked: "made-up")) == ["alice made-up tea"])
  }
}
