// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

private let tea = RoomID(unchecked: "tea")
private let carol = User(id: UserID(unchecked: "carol"))
private let dave = User(id: UserID(unchecked: "dave"))
private let end = TestStore.time + .seconds(60)

/// Restricted members, rooms that are read-only, and messages that moderators delete.
@Suite struct ModerationTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private init(test: TestStore) { self.test = test }

  /// Alice is the owner, Bob a moderator, Carol a member.
  private func prepare() async throws {
    let draft = RoomDraft(
      room: tea, epoch: "e", details: RoomDetails(), creator: alice, members: [bob.id, carol.id])
    try await test.write {
      _ = try $0.rooms.make(draft)
      try $0.rooms.setRole(.moderator, of: bob.id, in: tea, by: .user(alice.id, moderates: false))
    }
  }

  private func actor(_ user: User) -> RoomActor { .user(user.id, moderates: false) }

  private func restricted() async throws -> [String: Timestamp] {
    let members = try await test.read { try $0.rooms.snapshot(tea)?.members ?? [] }
    return Dictionary(
      uniqueKeysWithValues: members.compactMap { member in
        member.restrictedUntil.map { (member.user.id.rawValue, $0) }
      })
  }

  private func expect<T: Sendable>(
    _ refusal: RoomRefusal, sourceLocation: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable (Transaction) throws -> T
  ) async {
    await #expect(throws: StoreError.refused(refusal), sourceLocation: sourceLocation) {
      try await self.test.write(work)
    }
  }

  // MARK: Restrictions

  /// The role of the caller, and the users that the caller may restrict.
  @Test(arguments: [(alice, ["bob", "carol"]), (bob, ["carol"]), (carol, [])])
  func `a role restricts the lower roles`(caller: User, others: [String]) async throws {
    for name in ["alice", "bob", "carol"] where name != caller.id.rawValue {
      let other = ModerationTests(test: try TestStore())
      try await other.prepare()
      let (user, actor) = (UserID(unchecked: name), actor(caller))
      _ = try? await other.test.write { try $0.rooms.restrict(user, in: tea, by: actor, until: end) }
      #expect(try await other.restricted() == (others.contains(name) ? [name: end] : [:]), "\(name)")
    }
  }

  @Test func `only a backend restricts an owner, and nobody a user who is no member`() async throws {
    try await prepare()
    let (owner, moderator) = (actor(alice), actor(bob))
    await expect(.isOwner) { try $0.rooms.restrict(alice.id, in: tea, by: moderator, until: end) }
    await expect(.needs(.owner)) { try $0.rooms.restrict(bob.id, in: tea, by: moderator, until: end) }
    await expect(.needs(.moderator)) {
      try $0.rooms.restrict(bob.id, in: tea, by: .user(carol.id, moderates: false), until: end)
    }
    await expect(.noMember) { try $0.rooms.restrict(dave.id, in: tea, by: owner, until: end) }
    try await test.write {
      try $0.rooms.restrict(alice.id, in: tea, by: .backend, until: end)
      try $0.rooms.restrict(bob.id, in: tea, by: .user(alice.id, moderates: false), until: end)
    }
    #expect(try await restricted() == ["alice": end, "bob": end])
  }

  @Test func `a restriction outlives the membership, and a moderator ends it`() async throws {
    try await prepare()
    let moderator = actor(bob)
    let joined = try await test.write { transaction in
      try transaction.rooms.restrict(carol.id, in: tea, by: moderator, until: end)
      _ = try transaction.rooms.end(carol.id, tea)
      return try transaction.rooms.join(carol, room: tea, epoch: "e", now: .at(9))
    }
    #expect(joined.isNewMember && joined.restrictedUntil == end)
    let again = try await test.write { try $0.rooms.join(carol, room: tea, epoch: "e", now: .at(9)) }
    #expect(!again.isNewMember && again.restrictedUntil == end)
    try await test.write {
      _ = try $0.rooms.end(carol.id, tea)
      try $0.rooms.restrict(carol.id, in: tea, by: moderator, until: nil)
    }
    #expect(
      try await test.write { try $0.rooms.join(carol, room: tea, epoch: "e", now: .at(9)) }.restrictedUntil == nil)
    // Also of a user without a row.
    try await test.write { try $0.rooms.restrict(dave.id, in: tea, by: moderator, until: nil) }
  }

  @Test(arguments: [RoomActor.backend, .user(alice.id, moderates: false)])
  func `a restricted member who gets the role of an owner is restricted no more`(actor: RoomActor) async throws {
    try await prepare()
    try await test.write {
      for user in [bob, carol] { try $0.rooms.restrict(user.id, in: tea, by: .backend, until: end) }
      try $0.rooms.setRole(.moderator, of: carol.id, in: tea, by: actor)
    }
    #expect(try await restricted() == ["bob": end, "carol": end])
    try await test.write { try $0.rooms.setRole(.owner, of: carol.id, in: tea, by: actor) }
    #expect(try await restricted() == ["bob": end])
    // A backend may restrict an owner. The same role again ends nothing.
    try await test.write {
      try $0.rooms.restrict(carol.id, in: tea, by: .backend, until: end)
      try $0.rooms.setRole(.owner, of: carol.id, in: tea, by: actor)
    }
    #expect(try await restricted() == ["bob": end, "carol": end])
  }

  @Test func `a restricted member who succeeds the last owner is restricted no more`() async throws {
    try await prepare()
    let left = try await test.write { transaction in
      for user in [bob, carol] { try transaction.rooms.restrict(user.id, in: tea, by: .backend, until: end) }
      return try transaction.rooms.end(alice.id, tea)
    }
    let others = ["bob", "carol"].filter { $0 != left.successor?.rawValue }
    #expect(others.count == 1)
    #expect(try await restricted() == [others[0]: end])
  }

  @Test func `a restricted user who joins an empty group is its owner, and restricted no more`() async throws {
    try await prepare()
    let joined = try await test.write { transaction in
      try transaction.rooms.restrict(carol.id, in: tea, by: .backend, until: end)
      _ = try transaction.messages.append(draft("tea", in: tea, from: bob))
      for user in [carol, bob, alice] { _ = try transaction.rooms.end(user.id, tea) }
      return try transaction.rooms.join(carol, room: tea, epoch: "e", now: .at(9))
    }
    #expect(joined.role == .owner && joined.restrictedUntil == nil)
    #expect(try await restricted() == [:])
  }

  @Test func `a room has a maximum of restrictions, and ended ones do not count`() async throws {
    try await prepare()
    try await test.write { transaction in
      let room = try #require(try transaction.row(of: tea)).id
      for number in 1...RoomWriter.maxRestricted {
        let user = try transaction.needRow(of: UserID(unchecked: "u\(number)"))
        try transaction.db.run(
          "INSERT INTO restrictions (room, user, until) VALUES (?, ?, ?)", [room, user, end.rawValue])
      }
    }
    await #expect(throws: StoreError.tooMany(.restrictedUsers)) {
      try await self.test.write { try $0.rooms.restrict(carol.id, in: tea, by: .backend, until: end) }
    }
    try await test.write { transaction in
      try transaction.db.execute(
        sql: "UPDATE restrictions SET until = ? WHERE user = (SELECT id FROM users WHERE name = 'u1')",
        arguments: [TestStore.time.rawValue])
      try transaction.rooms.restrict(carol.id, in: tea, by: .backend, until: end)
    }
    #expect(try await restricted() == ["carol": end])
  }

  @Test func `two people of a direct room do not restrict each other`() async throws {
    let pair = RoomDraft(
      room: tea, epoch: "e", details: RoomDetails(kind: .direct, join: .invited), creator: alice, members: [bob.id])
    try await test.write { _ = try $0.rooms.makeDirect(pair) }
    await expect(.isDirect) {
      try $0.rooms.restrict(bob.id, in: tea, by: .user(alice.id, moderates: true), until: end)
    }
    await expect(.isDirect) { try $0.rooms.update(tea, RoomChange(isReadOnly: true), by: .backend) }
    try await test.write { try $0.rooms.restrict(bob.id, in: tea, by: .backend, until: end) }
    #expect(try await restricted() == ["bob": end])
  }

  // MARK: Rooms that are read-only

  @Test func `a moderator makes a room read-only`() async throws {
    try await prepare()
    let (moderator, member) = (actor(bob), actor(carol))
    #expect(try await test.read { try $0.rooms.snapshot(tea)?.isReadOnly } == false)
    await expect(.needs(.moderator)) { try $0.rooms.update(tea, RoomChange(isReadOnly: true), by: member) }
    let details = try await test.write { try $0.rooms.update(tea, RoomChange(isReadOnly: true), by: moderator) }
    #expect(details.isReadOnly && details.version == 2)
    #expect(try await test.read { try $0.rooms.snapshot(tea)?.isReadOnly } == true)
    #expect(try await test.write { try $0.rooms.join(dave, room: tea, epoch: "e", now: .at(9)) }.isReadOnly)
    let titled = try await test.write { try $0.rooms.update(tea, RoomChange(title: "Tea"), by: moderator) }
    #expect(titled.isReadOnly)
    let open = try await test.write { try $0.rooms.update(tea, RoomChange(isReadOnly: false), by: moderator) }
    #expect(!open.isReadOnly && open.title == "Tea")
    #expect(try await test.read { try $0.rooms.details(of: tea) } == open)
  }

  // MARK: Deletions

  @Test func `the store keeps the user who deleted the message of another user`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for _ in 1...3 { _ = try transaction.messages.append(draft()) }
    }
    let deleted = try await test.write { try $0.messages.delete(room, 1, moderator: bob.id) }
    #expect(deleted?.moderator == bob.id)
    #expect(
      try await test.write { try $0.messages.delete(room, 2, by: alice.id, moderator: alice.id) }?.moderator == nil)
    #expect(try await test.write { try $0.messages.delete(room, 3) }?.moderator == nil)
    #expect(try await test.write { try $0.messages.delete(room, 3, moderator: bob.id) }?.moderator == nil)
    let moderators = try await test.read { reader in
      try (1...3).map { try reader.messages.message(room, $0)?.moderator }
    }
    #expect(moderators == [bob.id, nil, nil])
    for changes in [
      try await test.read { try $0.messages.changes(room, upTo: 3, limit: 9, maxBytes: 9) },
      try await test.read { try $0.messages.changes(room, upTo: 3, after: 0, limit: 9, maxBytes: 9) },
    ] {
      #expect(changes?.map(\.moderator) == [bob.id, nil, nil])
    }
  }
}

/// Reports of messages to moderators.
@Suite struct MessageReportTests {
  let test: TestStore
  init() async throws { test = try await .withMessages(5) }

  private func report(
    _ seq: Int64, by user: User = bob, _ reason: String = "spam"
  ) async throws -> (report: MessageReport, isNew: Bool)? {
    try await test.write {
      try $0.reports.add(reason, about: MessageReference(room: room, seq: seq), by: user.id)
    }
  }

  private struct Page: Equatable {
    let ids: [Int64]
    let more: Bool

    init(_ ids: [Int64], more: Bool = false) { (self.ids, self.more) = (ids, more) }
  }

  private func page(
    of room: RoomID? = room, _ state: MessageReport.State? = nil, before: Int64 = .max, limit: Int = 9
  ) async throws -> Page {
    let page = try await test.read { try $0.reports.page(of: room, state, before: before, limit: limit) }
    return Page(page.reports.map(\.id), more: page.more)
  }

  private func count() async throws -> Int? {
    try await test.read { try $0.db.first("SELECT count(*) FROM message_reports")?[0] }
  }

  @Test func `a second report of a user about a message changes nothing`() async throws {
    let first = try #require(try await report(2))
    let expected = MessageReport(
      id: 1, message: MessageReference(room: room, seq: 2), author: alice.id, user: bob.id, reason: "spam",
      time: TestStore.time)
    #expect(first.report == expected && first.isNew)
    let again = try #require(try await report(2, "worse"))
    #expect(again.report == expected && !again.isNew)
    #expect(try await report(2, by: carol)?.isNew == true)
    #expect(try await count() == 2)
  }

  @Test func `a user reports only messages of others in the history`() async throws {
    await #expect(throws: StoreError.refused(.ownMessage)) { try await self.report(1, by: alice) }
    #expect(try await report(6)?.isNew == nil)
    try await test.write { _ = try $0.messages.delete(room, 3) }
    #expect(try await report(3)?.isNew == nil)
    await #expect(throws: StoreError.noRoom(tea)) {
      try await self.test.write {
        try $0.reports.add("spam", about: MessageReference(room: tea, seq: 1), by: bob.id)?.isNew
      }
    }
    #expect(try await count() == 0)
  }

  @Test func `the reports of a user have a rate`() async throws {
    try await fill(MessageReportWriter.maxOfUser, room: room, user: bob, at: TestStore.time - .seconds(60))
    await #expect(
      throws: StoreError.refused(.tooManyReports(retryAfter: MessageReportWriter.window - .seconds(60)))
    ) { try await self.report(1) }
    #expect(try await report(1, by: carol)?.isNew == true)
    try await test.write {
      try $0.db.execute(
        sql: "UPDATE message_reports SET steady = ? WHERE id = 1",
        arguments: [(TestStore.time - MessageReportWriter.window).rawValue])
    }
    #expect(try await report(1)?.isNew == true)
  }

  @Test(arguments: [-3_600, 600, 40 * 86_400])
  func `the rate of reports does not follow the wall clock`(step: Int) async throws {
    #expect(try await report(1)?.isNew == true)
    try await fill(MessageReportWriter.maxOfUser - 1, room: room, user: bob, at: test.clocks.now)
    test.clocks.set(by: .seconds(step))
    test.clocks.pass(MessageReportWriter.window - .seconds(60))
    await #expect(throws: StoreError.refused(.tooManyReports(retryAfter: .seconds(60)))) { try await self.report(2) }
    test.clocks.pass(.seconds(60))
    let next = try #require(try await report(2))
    #expect(next.isNew)
    // People see the wall time.
    #expect(next.report.time == test.clocks.now)
  }

  @Test func `a new report replaces the oldest one that is not open`() async throws {
    try await fill(MessageReportWriter.maxOfRoom, room: room, user: dave, at: .at(0))
    await #expect(throws: StoreError.tooMany(.reportsPerRoom)) { try await self.report(1) }
    try await test.write {
      for id in [7, 5] { _ = try $0.reports.end(Int64(id), in: room, as: .dismissed, by: nil) }
    }
    #expect(try await report(1)?.isNew == true)
    #expect(try await count() == MessageReportWriter.maxOfRoom)
    #expect(try await page(of: room, .dismissed).ids == [7])
  }

  /// Stores reports of messages that the history does not have.
  private func fill(_ count: Int, room: RoomID, user: User, at time: Timestamp) async throws {
    try await test.write { transaction in
      let (row, reporter) = (try #require(try transaction.row(of: room)).id, try transaction.needRow(of: user.id))
      for number in 1...count {
        try transaction.db.run(
          """
          INSERT INTO message_reports (room, seq, user, author, reason, time, steady, state)
          VALUES (?1, ?2, ?3, ?3, 'x', ?4, ?4, 'open')
          """,
          [row, 1_000 + number, reporter, time.rawValue])
      }
    }
  }

  @Test func `the pages have the newest reports first, of a room or of all rooms`() async throws {
    try await test.write { transaction in
      _ = try transaction.rooms.join(bob, room: tea, epoch: "t", now: TestStore.time)
      _ = try transaction.messages.append(draft("tea", in: tea, from: bob))
    }
    for seq in 1...3 { _ = try await report(Int64(seq)) }
    try await test.write {
      _ = try $0.reports.add("spam", about: MessageReference(room: tea, seq: 1), by: alice.id)
      _ = try $0.reports.end(2, in: room, as: .resolved, by: alice.id)
    }
    #expect(try await page(limit: 2) == Page([3, 2], more: true))
    #expect(try await page(before: 2, limit: 2) == Page([1]))
    #expect(try await page(.open) == Page([3, 1]))
    #expect(try await page(.open, before: 3, limit: 1) == Page([1]))
    #expect(try await page(.resolved) == Page([2]))
    #expect(try await page(of: nil) == Page([4, 3, 2, 1]))
    #expect(try await page(of: nil, .open, limit: 2) == Page([4, 3], more: true))
    #expect(try await page(of: RoomID(unchecked: "none")) == Page([]))
    try await test.write { _ = try $0.rooms.delete(tea, by: .backend) }
    #expect(try await page(of: nil) == Page([3, 2, 1]))
    while try await test.write({ try $0.rooms.sweepDeleted() }) {}
    #expect(try await count() == 3)
  }

  @Test func `a moderator neither gets nor ends the reports about the own messages`() async throws {
    try await test.write { transaction in
      _ = try transaction.rooms.join(bob, room: room, epoch: "e", now: TestStore.time)
      _ = try transaction.messages.append(draft("bob", from: bob))
    }
    for seq in [1, 6] { _ = try await report(Int64(seq), by: carol) }
    func ids(for viewer: User?) async throws -> [Int64] {
      try await test.read { try $0.reports.page(of: room, for: viewer?.id, limit: 9).reports.map(\.id) }
    }
    #expect(try await ids(for: nil) == [2, 1])
    #expect(try await ids(for: alice) == [2])
    #expect(try await ids(for: bob) == [1])
    // A user without a row has no messages.
    #expect(try await ids(for: User(id: UserID(unchecked: "nobody"))) == [2, 1])
    await #expect(throws: StoreError.refused(.noReport)) {
      try await self.test.write { try $0.reports.end(1, in: room, as: .resolved, by: alice.id, for: alice.id) }
    }
    let ended = try await test.write {
      [
        try $0.reports.end(1, in: room, as: .resolved, by: bob.id, for: bob.id),
        // A backend that acts for the sender.
        try $0.reports.end(2, in: room, as: .dismissed, by: bob.id),
      ]
    }
    #expect(ended.map(\.state) == [.resolved, .dismissed])
  }

  @Test func `the end of a report has the moderator and the time`() async throws {
    _ = try await report(1)
    let resolved = try await test.write { try $0.reports.end(1, in: room, as: .resolved, by: alice.id) }
    #expect(resolved.state == .resolved && resolved.closer == alice.id && resolved.closed == TestStore.time)
    // The same end again keeps the moderator.
    #expect(try await test.write { try $0.reports.end(1, in: room, as: .resolved, by: carol.id) } == resolved)
    let dismissed = try await test.write { try $0.reports.end(1, in: room, as: .dismissed, by: nil) }
    #expect(dismissed.state == .dismissed && dismissed.closer == nil && dismissed.closed != nil)
    let open = try await test.write { try $0.reports.end(1, in: room, as: .open, by: carol.id) }
    #expect(open.state == .open && open.closer == nil && open.closed == nil)
    for (id, other) in [(9, room), (1, tea)] as [(Int64, RoomID)] {
      await #expect(throws: StoreError.refused(.noReport)) {
        try await self.test.write { try $0.reports.end(id, in: other, as: .resolved, by: nil) }
      }
    }
  }

  @Test func `reports that were ended long ago are deleted in slices, and open ones stay`() async throws {
    for seq in 1...3 as ClosedRange<Int64> { _ = try await report(seq) }
    try await test.write { transaction in
      for id in 1...3 as ClosedRange<Int64> {
        _ = try transaction.reports.end(id, in: room, as: .resolved, by: nil)
      }
      _ = try transaction.reports.end(3, in: room, as: .open, by: nil)
      let bound = (TestStore.time - MessageReport.retention).rawValue
      try transaction.db.run("UPDATE message_reports SET time = 0")
      try transaction.db.run("UPDATE message_reports SET closed = ? WHERE id = 1", [bound])
      try transaction.db.run("UPDATE message_reports SET closed = ? WHERE id = 2", [bound - 1])
    }
    #expect(try await test.write { try $0.reports.purge() } == false)
    #expect(try await page().ids == [3, 1])
    try await fill(MessageReportWriter.maxSlice + 1, room: room, user: dave, at: .at(0))
    try await test.write { try $0.db.run("UPDATE message_reports SET state = 'resolved', closed = 0 WHERE id > 3") }
    #expect(try await test.write { try $0.reports.purge() })
    #expect(try await count() == 3)
    #expect(try await test.write { try $0.reports.purge() } == false)
    #expect(try await page().ids == [3, 1])
  }

  @Test func `an erasure deletes the reports by the user and about the user`() async throws {
    try await test.write { transaction in
      _ = try transaction.rooms.join(bob, room: room, epoch: "e", now: TestStore.time)
      try transaction.rooms.restrict(bob.id, in: room, by: .backend, until: end)
      _ = try transaction.messages.append(draft("bob", from: bob))
      _ = try transaction.reports.add("about bob", about: MessageReference(room: room, seq: 6), by: alice.id)
      for seq in 1...3 as ClosedRange<Int64> {
        _ = try transaction.reports.add("by bob", about: MessageReference(room: room, seq: seq), by: bob.id)
      }
      _ = try transaction.reports.add("other", about: MessageReference(room: room, seq: 1), by: carol.id)
      _ = try transaction.reports.end(5, in: room, as: .resolved, by: bob.id)
      _ = try transaction.erasures.begin("e", of: bob.id, as: UserID(unchecked: "erased-1"), .anonymize)
    }
    while try await !test.write({ try $0.erasures.perform("e").isLast }) {}
    let left = try await test.read { try $0.reports.page(limit: 9).reports }
    #expect(left.map(\.reason) == ["other"] && left.first?.closer == UserID(unchecked: "erased-1"))
    #expect(try await test.read { try $0.db.has("SELECT 1 FROM restrictions") } == false)
  }

  @Test func `an export has the own reports and restrictions, also of rooms that were left`() async throws {
    try await test.write { transaction in
      for room in [room, tea] {
        _ = try transaction.rooms.join(bob, room: room, epoch: "e", now: TestStore.time)
        _ = try transaction.rooms.join(carol, room: room, epoch: "e", now: TestStore.time)
        for user in [bob, carol] { try transaction.rooms.restrict(user.id, in: room, by: .backend, until: end) }
      }
      _ = try transaction.rooms.end(bob.id, tea)
    }
    for seq in 1...3 { _ = try await report(Int64(seq)) }
    _ = try await report(1, by: carol)
    var (found, position, restriction) = ([Int64](), ExportPosition.start as ExportPosition?, nil as Timestamp?)
    var left: [RoomID: Timestamp] = [:]
    while let from = position {
      let page = try #require(
        try await test.read { try $0.export.page(of: bob.id, from: from, within: ExportBounds(entries: 2)) })
      for entry in page.entries {
        if case .report(let report) = entry { found.append(report.message.seq) }
        if case .membership(let membership) = entry { restriction = membership.restrictedUntil }
        if case .restriction(let room, let until) = entry { left[room] = until }
      }
      position = page.next
    }
    #expect(found == [1, 2, 3])
    #expect(restriction == end)
    #expect(left == [tea: end])
  }
}
