// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

private let tea = RoomID(unchecked: "tea")
private let carol = UserID(unchecked: "carol")

/// Rooms that people create: their records, and their deletion.
@Suite struct RoomRecordTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func group(_ members: [UserID] = [bob.id], key: String? = nil, join: RoomJoin = .open) -> RoomDraft {
    RoomDraft(
      room: tea, epoch: "epoch", details: RoomDetails(join: join, title: "Tea", avatar: "https://example.org/tea.png"),
      creator: alice, members: members, key: key)
  }

  private func direct(_ room: String, from user: User, to other: User) -> RoomDraft {
    RoomDraft(
      room: RoomID(unchecked: room), epoch: "epoch", details: RoomDetails(kind: .direct, join: .invited),
      creator: user, members: [other.id])
  }

  private func count(_ table: String) throws -> Int {
    try test.store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
  }

  private func expect<T: Sendable>(
    _ refusal: RoomRefusal, sourceLocation: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable (Transaction) throws -> T
  ) async {
    await #expect(throws: StoreError.refused(refusal), sourceLocation: sourceLocation) {
      try await self.test.write(work)
    }
  }

  // MARK: Creating

  @Test func `a group has its record, its members and its owner`() async throws {
    let draft = group([bob.id, carol, bob.id, alice.id])
    let made = try await test.write { try $0.rooms.make(draft) }
    #expect(made.isNew)
    #expect(made.state == RoomState(room: tea, epoch: "epoch", seq: 0, cursor: 0))
    #expect(made.added == [alice.id, bob.id, carol])
    var details = draft.details
    (details.version, details.created) = (1, TestStore.time)
    #expect(made.details == details)
    #expect(try await test.read { try $0.rooms.details(of: RoomID(unchecked: "tea")) } == details)
    let roles = try await test.store.pool.read { try Int64.fetchAll($0, sql: "SELECT role FROM members ORDER BY role") }
    #expect(roles == [0, 0, RoomRole.owner.rawValue])
  }

  @Test func `a name is used once, and a key creates once`() async throws {
    let (first, other) = (group(key: "k"), group(key: "other"))
    #expect(try await test.write { try $0.rooms.make(first) }.isNew)
    let again = try await test.write { try $0.rooms.make(first) }
    #expect(!again.isNew)
    #expect(again.state.room == tea)
    #expect(again.added.isEmpty)
    await expect(.exists) { try $0.rooms.make(other) }
    // A failed attempt does not use its key.
    #expect(try count("creations") == 1)
  }

  @Test func `expired keys are deleted`() async throws {
    for number in 0..<30 {
      var draft = group(key: "\(number)")
      draft.room = RoomID(unchecked: "room-\(number)")
      try await test.write { [draft] transaction in
        _ = try transaction.rooms.make(draft)
        try transaction.db.execute(sql: "UPDATE creations SET expires = 1")
      }
    }
    #expect(try count("creations") <= RoomWriter.sweptCreations)
  }

  @Test func `limits apply to each member`() async throws {
    var draft = group([bob.id, carol])
    draft.bounds = MembershipBounds(membersPerRoom: 2)
    let tooMany = draft
    await #expect(throws: StoreError.tooMany(.membersPerRoom)) {
      try await self.test.write { try $0.rooms.make(tooMany) }
    }
    #expect(try count("rooms") == 0)
    #expect(try count("details") == 0)
  }

  @Test func `a user who has blocked the creator is not added`() async throws {
    let draft = group()
    try await test.write { try $0.people.block(alice.id, by: bob.id) }
    #expect(try await test.write { try $0.rooms.make(draft) }.added == [alice.id])
    #expect(try count("members") == 1)
    var backend = draft
    (backend.room, backend.isByBackend) = (RoomID(unchecked: "backend"), true)
    let made = backend
    #expect(try await test.write { try $0.rooms.make(made) }.added == [alice.id, bob.id])
  }

  @Test func `nobody joins an invited room, but members join again`() async throws {
    let draft = group(join: .invited)
    try await test.write { _ = try $0.rooms.make(draft) }
    await expect(.invited) {
      try $0.rooms.join(User(id: carol), room: tea, epoch: "e", now: TestStore.time)
    }
    #expect(try count("members") == 2)
    let again = try await test.write { try $0.rooms.join(bob, room: tea, epoch: "e", now: .at(0)) }
    #expect(!again.isNewMember)
    let added = try await test.write {
      try $0.rooms.join(User(id: carol), room: tea, epoch: "e", now: .at(0), isInvited: true)
    }
    #expect(added.isNewMember)
  }

  // MARK: Direct rooms

  @Test func `two people have one direct room, even if both ask at the same time`() async throws {
    let drafts = [direct("direct.1", from: alice, to: bob), direct("direct.2", from: bob, to: alice)]
    let rooms = Mutex<[RoomID]>([])
    await withCheckedContinuation { continuation in
      test.gather {
        for draft in drafts {
          test.store.submit({ try $0.rooms.makeDirect(draft) }) { result in
            let isLast = rooms.withLock {
              if case .success(let made) = result { $0.append(made.state.room) }
              return $0.count == drafts.count
            }
            if isLast { continuation.resume() }
          }
        }
      }
    }
    #expect(rooms.withLock { $0.map(\.rawValue) } == ["direct.1", "direct.1"])
    #expect(try count("rooms") == 1)
    #expect(try count("members") == 2)
    let found = try #require(try await test.read { try $0.rooms.direct(of: bob.id, alice.id) })
    #expect(found.room.rawValue == "direct.1")
    #expect(found.isComplete)
    #expect(try await test.read { try $0.rooms.direct(of: bob.id, UserID(unchecked: "carol")) } == nil)
  }

  @Test func `a direct room gets a member back who has left`() async throws {
    let draft = direct("direct.1", from: alice, to: bob)
    try await test.write { _ = try $0.rooms.makeDirect(draft) }
    try await test.write { transaction in
      _ = try transaction.messages.append(MessageDraft(room: draft.room, from: alice, time: .at(0), body: [0x31]))
      try transaction.rooms.leave(bob.id, room: draft.room)
    }
    #expect(try await test.read { try $0.rooms.direct(of: alice.id, bob.id) }?.isComplete == false)
    let again = try await test.write { try $0.rooms.makeDirect(draft) }
    #expect(!again.isNew)
    #expect(again.added == [bob.id])
  }

  @Test func `a blocked user makes nobody a member of a direct room, but keeps an existing one`() async throws {
    let draft = direct("direct.1", from: alice, to: bob)
    try await test.write { try $0.people.block(alice.id, by: bob.id) }
    #expect(try await test.write { try $0.rooms.makeDirect(draft) }.added == [alice.id])
    // The user who blocks may open it.
    let other = direct("direct.2", from: bob, to: alice)
    let opened = try await test.write { try $0.rooms.makeDirect(other) }
    #expect(!opened.isNew && opened.added == [bob.id])
    #expect(try await test.write { try $0.rooms.makeDirect(draft) }.added == [])
  }

  // MARK: The record

  @Test func `an update changes the given fields and the version`() async throws {
    let draft = group()
    try await test.write { _ = try $0.rooms.make(draft) }
    let owner = RoomActor.user(alice.id, moderates: false)
    let changed = try await test.write {
      try $0.rooms.update(
        tea, RoomChange(title: "Coffee", avatar: .some(nil), metadata: Array("{}".utf8)), by: owner, version: 1)
    }
    #expect(changed.title == "Coffee")
    #expect(changed.avatar == nil)
    #expect(changed.metadata == Array("{}".utf8))
    #expect(changed.version == 2)
    await expect(.outdated(version: 2)) {
      try $0.rooms.update(tea, RoomChange(title: "Tea"), by: owner, version: 1)
    }
    let kept = try await test.write { try $0.rooms.update(tea, RoomChange(), by: .backend) }
    #expect(kept.title == "Coffee")
    #expect(kept.version == 3)
  }

  @Test func `only a moderator changes the record of a group, and members that of a direct room`() async throws {
    let (draft, pair) = (group(), direct("direct.1", from: alice, to: bob))
    try await test.write {
      _ = try $0.rooms.make(draft)
      _ = try $0.rooms.makeDirect(pair)
    }
    let member = RoomActor.user(bob.id, moderates: false)
    await expect(.needs(.moderator)) { try $0.rooms.update(tea, RoomChange(), by: member) }
    _ = try await test.write { try $0.rooms.update(tea, RoomChange(), by: .user(bob.id, moderates: true)) }
    await #expect(throws: StoreError.notMember) {
      try await self.test.write { try $0.rooms.update(tea, RoomChange(), by: .user(carol, moderates: false)) }
    }
    let metadata = RoomChange(metadata: Array("{}".utf8))
    #expect(try await test.write { try $0.rooms.update(pair.room, metadata, by: member) }.version == 2)
    await expect(.isDirect) { try $0.rooms.update(pair.room, RoomChange(title: "Us"), by: member) }
  }

  @Test func `a room of a first join has a record after its first change`() async throws {
    try await test.write { try $0.prepareRoom() }
    #expect(try await test.read { try $0.rooms.details(of: room) } == RoomDetails())
    #expect(try await test.read { try $0.rooms.details(of: RoomID(unchecked: "none")) } == nil)
    let changed = try await test.write { try $0.rooms.update(room, RoomChange(title: "Room"), by: .backend) }
    #expect(changed == RoomDetails(title: "Room", version: 1, created: TestStore.time))
  }

  @Test func `a claim has the title and the picture of the room`() async throws {
    let draft = group()
    try await test.write { transaction in
      try transaction.prepareRoom(RoomID(unchecked: "other"))
      _ = try transaction.rooms.make(draft)
      _ = try transaction.messages.append(RelayStoreTests.draft(in: draft.room, jobs: [job()]))
    }
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(1), leaseUntil: .at(9)) }
    #expect(claims.map(\.shown?.room.title) == ["Tea"])
    #expect(claims.map(\.shown?.room.avatar) == ["https://example.org/tea.png"])
  }

  // MARK: Deleting

  @Test func `a deleted room is gone at once, and its name is free`() async throws {
    let draft = group()
    try await test.write { transaction in
      try transaction.prepareRoom(RoomID(unchecked: "other"))
      _ = try transaction.rooms.make(draft)
      for _ in 1...3 { _ = try transaction.messages.append(RelayStoreTests.draft(in: draft.room, jobs: [job()])) }
    }
    await expect(.needs(.owner)) { try $0.rooms.delete(tea, by: .user(bob.id, moderates: true)) }
    try await test.write { try $0.rooms.delete(tea, by: .user(alice.id, moderates: false)) }
    #expect(try await test.read { try $0.rooms.snapshot(tea) } == nil)
    #expect(try await test.read { try $0.messages.unread(of: bob.id, now: .at(0)) }.total == Unread())
    #expect(try await test.read { try $0.rooms.undecided() } == [])
    #expect(try await test.read { try $0.rooms.aging(after: 0, limit: 9) }.rooms.map(\.room.rawValue) == ["other"])
    // A push that is due now must not leave.
    #expect(try await test.write { try $0.queue.claim(limit: 9, now: .at(1), leaseUntil: .at(9)) } == [])
    let again = try await test.write { try $0.rooms.make(draft) }
    #expect(again.isNew)
    while try await test.write({ try $0.rooms.sweepDeleted() }) {}
    #expect(try await test.read { try $0.rooms.snapshot(tea) }?.members.count == 2)
    #expect(try count("jobs WHERE kind = 'push'") == 0)
    #expect(try count("messages") == 0)
  }

  @Test func `all rows of a deleted room are deleted in small slices, and messages are stored in between`() async throws
  {
    let draft = group((0..<90).map { UserID(unchecked: "member-\($0)") } + [bob.id], key: "k")
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.make(draft)
      for number in 1...150 {
        _ = try transaction.messages.append(
          RelayStoreTests.draft(in: draft.room, key: "\(number)", jobs: [job()], cursorFollows: true))
      }
      try transaction.db.execute(
        sql: """
          INSERT INTO silenced (room, seq, user, sender, time) SELECT room, seq, 1, 1, 0 FROM messages;
          INSERT INTO pending_changes (room, seq, user, device) SELECT room, seq, 0, '' FROM messages;
          INSERT INTO bans (room, user)
            SELECT room, user FROM members JOIN rooms ON rooms.id = room WHERE rooms.name <> 'room';
          INSERT INTO responses (notification, room, seq, user, sender, action, time, is_told)
            SELECT 'n' || seq, room, seq, 1, 1, 'yes', 0, 0 FROM messages;
          INSERT INTO invitations (room, user, inviter, time, seq, is_hidden, is_undecided)
            SELECT room, 'invited-' || seq, 1, 0, 0, seq % 2, 0 FROM messages;
          """)
    }
    let before = try count("members") + count("messages") + count("jobs") + count("keys")
    try await test.write { try $0.rooms.delete(draft.room, by: .backend) }
    var slices = 0
    while try await test.write({ transaction in
      let changes = transaction.db.totalChangesCount
      let more = try transaction.rooms.sweepDeleted(max: 50)
      // A job may update the jobs behind it.
      #expect(transaction.db.totalChangesCount - changes <= 250)
      return more
    }) {
      slices += 1
      #expect(try await test.write { try $0.messages.append(RelayStoreTests.draft(cursorFollows: true)).seq } == slices)
    }
    #expect(slices > before / 50)
    #expect(try count("members") == 2)
    #expect(try count("messages") == slices)
    for table in [
      "jobs WHERE kind = 'push'", "keys", "silenced", "pending_changes", "bans", "responses", "details", "directs",
      "invitations",
    ] {
      #expect(try count(table) == 0, "\(table)")
    }
    #expect(try count("rooms") == 1)
    #expect(try await test.write { try $0.rooms.sweepDeleted() } == false)
  }

  @Test func `messages that were sent before a deletion are stored, and later ones fail`() async throws {
    let draft = group()
    try await test.write { _ = try $0.rooms.make(draft) }
    let results = Mutex<[Int64?]>([])
    await withCheckedContinuation { continuation in
      test.gather {
        for number in 0..<6 {
          if number == 3 { test.store.submit({ try $0.rooms.delete(draft.room, by: .backend) }) { _ in } }
          test.store.append(RelayStoreTests.draft(in: draft.room)) { result in
            let isLast = results.withLock {
              $0.append(try? result.get().seq)
              return $0.count == 6
            }
            if isLast { continuation.resume() }
          }
        }
      }
    }
    #expect(results.withLock { $0 } == [1, 2, 3, nil, nil, nil])
  }

  @Test func `a digest with messages of a deleted room goes to the other room`() async throws {
    let draft = group()
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.make(draft)
      _ = try transaction.messages.append(RelayStoreTests.draft(jobs: [job()]))
      _ = try transaction.messages.append(RelayStoreTests.draft(in: draft.room, jobs: [job()]))
      // Both are late, so one push has both.
      try transaction.db.execute(sql: "UPDATE jobs SET is_late = 1")
      _ = try transaction.queue.claim(limit: 1, now: .at(1), leaseUntil: .at(2))
      try transaction.rooms.delete(draft.room, by: .backend)
      while try transaction.rooms.sweepDeleted() {}
    }
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(9), leaseUntil: .at(10)) }
    #expect(claims.map(\.shown?.room.id) == [room])
    #expect(claims.map(\.shown?.others.count) == [0])
  }

  @Test func `members of a deleted room share nothing, and it counts for no limit`() async throws {
    let draft = group()
    try await test.write { transaction in
      try transaction.devices.register(phone(), of: bob.id, now: TestStore.time)
      _ = try transaction.rooms.make(draft)
    }
    let push = try await test.write { try $0.messages.append(RelayStoreTests.draft(in: draft.room, jobs: [job()])) }
      .jobs[0]
    #expect(try await test.read { try $0.rooms.relatedUsers(of: alice.id, among: [bob.id]) } == [bob.id])
    #expect(try await test.read { try $0.responses.notification(push, of: bob.id) } != nil)
    let members = try await test.write { try $0.rooms.delete(tea, by: .backend) }
    #expect(Set(members) == [alice.id, bob.id])
    #expect(try await test.read { try $0.rooms.relatedUsers(of: alice.id, among: [bob.id]) } == [])
    #expect(try await test.read { try $0.rooms.names(of: bob.id) } == [])
    #expect(try await test.read { try $0.responses.notification(push, of: bob.id) } == nil)
    let joined = try await test.write {
      try $0.rooms.join(bob, room: room, epoch: "e", now: .at(0), within: MembershipBounds(roomsPerUser: 1))
    }
    #expect(joined.isNewMember)
  }

  @Test func `an unused room is forgotten with its record`() async throws {
    let draft = group([])
    try await test.write { _ = try $0.rooms.make(draft) }
    try await test.write { try $0.rooms.leave(alice.id, room: draft.room) }
    #expect(try count("rooms") == 0)
    #expect(try count("details") == 0)
  }
}
