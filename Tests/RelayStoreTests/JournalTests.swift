// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import SeededRandom
import Synchronization
import Testing

@testable import RelayStore

/// The groups that a journal decides.
@Suite final class JournalTests {
  private let journal = MemoryJournal()
  private let test: TestStore
  /// A path that only this test uses. It does not exist yet.
  private let folder = temporaryPath()

  init() throws { test = try TestStore(journal: journal) }
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private struct OwnError: Error {}

  /// Submits works as one group, and returns their results when all have ended.
  private func group<T: Sendable>(_ works: [@Sendable (Transaction) throws -> T]) async -> [Result<T, StoreError>] {
    let results = Mutex<[Result<T, StoreError>]>([])
    await withCheckedContinuation { continuation in
      test.gather {
        for work in works {
          test.store.submit(work) { result in
            let isLast = results.withLock {
              $0.append(result)
              return $0.count == works.count
            }
            if isLast { continuation.resume() }
          }
        }
      }
    }
    return results.withLock { $0 }
  }

  /// Submits messages as one group, and returns their results when all have ended.
  private func group(_ drafts: [MessageDraft]) async -> [Result<Appended, StoreError>] {
    let results = Mutex<[Result<Appended, StoreError>]>([])
    await withCheckedContinuation { continuation in
      test.gather {
        for draft in drafts {
          test.store.append(draft) { result in
            let isLast = results.withLock {
              $0.append(result)
              return $0.count == drafts.count
            }
            if isLast { continuation.resume() }
          }
        }
      }
    }
    return results.withLock { $0 }
  }

  /// A replica that has applied all groups of the journal must equal the store.
  private func expectEqualReplica(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    let groups = journal.groups
    try replica.apply(groups, position: "\(groups.count)")
    let state = try test.store.replicatedState()
    #expect(try replica.hash() == state.hash, sourceLocation: sourceLocation)
    #expect(replica.position == state.position, sourceLocation: sourceLocation)
  }

  private func makeLarge(_ size: Int, key: String? = nil) -> MessageDraft {
    draft(String(repeating: "x", count: size), key: key, cursorFollows: true)
  }

  /// Makes the insertion of a message fail after SQLite has written and captured its row.
  private func refuse(body: String) throws {
    try refuse(inserts: "messages", where: "NEW.body = CAST('\"\(body)\"' AS BLOB)")
  }

  private func refuse(inserts table: String, where condition: String = "true") throws {
    try test.store.pool.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          CREATE TEMP TRIGGER refuse AFTER INSERT ON \(table) WHEN \(condition)
          BEGIN SELECT RAISE(ABORT, 'refused'); END
          """)
    }
  }

  // MARK: Accepted groups

  @Test func `a replica that applies the journal equals the store`() async throws {
    try await test.write { try $0.prepareRoom() }
    _ = await group((1...100).map { draft("\($0)", key: "\($0)", jobs: $0.isMultiple(of: 3) ? [job()] : []) })
    #expect(journal.groups.count == 2)
    #expect(journal.now.committed == 2)
    #expect(try test.store.replicatedState().position == "2")
    try expectEqualReplica()
  }

  @Test func `the journal does not see a group that changes no row`() async throws {
    try await test.write { _ in }
    try await test.write { try $0.touchDisk() }
    await #expect(throws: StoreError.self) {
      try await self.test.write {
        try $0.prepareRoom()
        throw OwnError()
      }
    }
    #expect(journal.groups.isEmpty)
    #expect(journal.now.committed == 0)
    #expect(try test.store.replicatedState().position == "0")
  }

  @Test func `the rows of a failing work are not in the journal`() async throws {
    try await test.write { try $0.prepareRoom() }
    let works: [@Sendable (Transaction) throws -> Int64] = [
      { try $0.messages.append(draft("one")).seq },
      { transaction in
        _ = try transaction.messages.append(draft("undone", from: User(id: UserID(unchecked: "carol")), key: "k"))
        throw OwnError()
      },
      { transaction in
        // Changes some rows before one of them fails.
        try transaction.db.execute(sql: "UPDATE members SET read = CASE WHEN user = 2 THEN 'no' ELSE 7 END")
        return 0
      },
      { try $0.messages.append(draft("two")).seq },
    ]
    let results = await group(works)
    #expect(results.map { (try? $0.get()) != nil } == [true, false, false, true])
    try expectEqualReplica()
  }

  @Test(arguments: [nil, "new", "expired"]) func `a refused message leaves no row`(key: String?) async throws {
    try await test.write { try $0.prepareRoom() }
    // This key has expired when it is used again.
    try await test.write { _ = try $0.messages.append(draft("old", at: .at(-200_000_000), key: "expired")) }
    try await test.write { try $0.db.execute(sql: "UPDATE keys SET expires = 1") }
    try refuse(body: "no")
    let results = await group([draft("one"), draft("no", key: key), draft("two")])
    #expect(results.map { (try? $0.get().seq) } == [2, nil, 3])
    try expectEqualReplica()
  }

  @Test func `a refused key leaves no row`() async throws {
    try await test.write { try $0.prepareRoom() }
    try refuse(inserts: "keys")
    let results = await group([draft("one"), draft("no", key: "key"), draft("two")])
    #expect(results.map { (try? $0.get().seq) } == [1, nil, 2])
    try expectEqualReplica()
  }

  @Test func `a device's removal and its keys reach the replica`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.devices.addReportKey(hash: [UInt8](repeating: 7, count: 32), for: phone().id, of: bob.id)
      // Foreign keys delete the report key.
      try transaction.db.execute(sql: "DELETE FROM devices")
    }
    try expectEqualReplica()
  }

  // MARK: Large groups

  @Test func `a group ends at a size, and the others keep their order`() async throws {
    try await test.write { try $0.prepareRoom() }
    let results = await group((0..<20).map { _ in makeLarge(100_000) })
    #expect(try results.map { try $0.get().seq } == Array(1...20))
    // The first two groups are the preparation and the work that gathers.
    #expect(test.groups.all == [1, 1, 6, 6, 6, 2])
    #expect(journal.groups.allSatisfy { $0.count <= JournaledRows.maxSize })
    try expectEqualReplica()
  }

  @Test func `works that are too large together are committed in several groups`() async throws {
    try await test.write { try $0.prepareRoom() }
    let results = await group([1, 500_000, 500_000, 1, 450_000, 2, 500_000].map { makeLarge($0) })
    #expect(try results.map { try $0.get().seq } == Array(1...7))
    #expect(journal.groups.allSatisfy { $0.count <= JournaledRows.maxSize })
    #expect(test.store.statistics.failures == 0)
    try expectEqualReplica()
  }

  @Test(arguments: [true, false]) func `a work that is too large fails alone`(isGrouped: Bool) async throws {
    try await test.write { try $0.prepareRoom() }
    let drafts = [makeLarge(1), makeLarge(950_000, key: "k"), makeLarge(1), makeLarge(1, key: "k")]
    let works: [@Sendable (Transaction) throws -> Appended] = drafts.map { draft in { try $0.messages.append(draft) } }
    let results = if isGrouped { await group(drafts) } else { await group(works) }
    #expect(results.map { (try? $0.get().seq) } == [1, nil, 2, 3])
    #expect(throws: StoreError.tooLarge) { try results[1].get() }
    #expect(test.store.statistics.isAvailable)
    try expectEqualReplica()
  }

  @Test func `many small changes of one work can be too large, too`() async throws {
    try await test.write { try $0.prepareRoom() }
    let error = await #expect(throws: StoreError.self) {
      try await self.test.write { transaction in
        for number in 0..<60_000 { _ = try transaction.needRow(of: UserID(unchecked: "a-long-name-\(number)")) }
      }
    }
    #expect(error == .tooLarge)
    #expect(try await test.write { try $0.messages.append(draft()).seq } == 1)
    try expectEqualReplica()
  }

  // MARK: Failures

  @Test func `a group that fails before its decision is not in the journal`() async throws {
    try await test.write { try $0.prepareRoom() }
    let works: [@Sendable (Transaction) throws -> Int64] = [
      { try $0.messages.append(draft("lost")).seq },
      { transaction in
        try transaction.db.execute(sql: "ROLLBACK")
        throw OwnError()
      },
    ]
    for result in await group(works) {
      let error = #expect(throws: StoreError.self) { try result.get() }
      #expect(error?.code == .unavailable)
    }
    #expect(journal.groups.count == 1)
    #expect(try await test.write { try $0.messages.append(draft("kept")).seq } == 1)
    try expectEqualReplica()
  }

  @Test func `a full disk is not in the journal`() async throws {
    try await test.write { try $0.prepareRoom() }
    func limitPages(_ count: String) throws {
      try test.store.pool.writeWithoutTransaction { db in
        _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(count)")
      }
    }
    try limitPages("1")
    for result in await group([makeLarge(200_000, key: "k"), makeLarge(200_000)]) {
      let error = #expect(throws: StoreError.self) { try result.get() }
      #expect(error?.code == .unavailable)
    }
    #expect(journal.groups.count == 1)
    try limitPages("1000000")
    #expect(try await test.write { try $0.messages.append(draft("kept")).seq } == 1)
    try expectEqualReplica()
  }

  @Test func `a removed file fails the group before its decision`() async throws {
    let path = test.folder + "/stillwire.db"
    try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
    let error = await #expect(throws: StoreError.self) { try await self.test.write { try $0.prepareRoom() } }
    #expect(error?.code == .unavailable)
    #expect(journal.groups.isEmpty)
    try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
    try await test.write { try $0.prepareRoom() }
    try expectEqualReplica()
  }

  @Test func `a group that the journal refuses is undone, and the store ends`() async throws {
    try await test.write { try $0.prepareRoom() }
    let before = try test.store.replicatedState()
    journal.end("another node leads")
    let works: [@Sendable (Transaction) throws -> Int64] = (1...3).map { number in
      { try $0.messages.append(draft("\(number)", key: "\(number)")).seq }
    }
    for result in await group(works) {
      #expect(throws: StoreError.ended(reason: "another node leads")) { try result.get() }
    }
    let after = try test.store.replicatedState()
    #expect(after == before)
    #expect(journal.now.failedCommits == 0)
    try await expectEnd("another node leads")
    // Reads are still possible.
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 0)
    try expectEqualReplica()
  }

  /// Each further work must fail without a transaction.
  private func expectEnd(_ reason: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = StoreError.ended(reason: reason)
    let hasRun = Mutex(false)
    #expect(!test.store.statistics.isAvailable, sourceLocation: sourceLocation)
    for _ in 0..<2 {
      await #expect(throws: end, sourceLocation: sourceLocation) {
        try await self.test.write { _ in hasRun.withLock { $0 = true } }
      }
    }
    #expect(!hasRun.withLock { $0 }, sourceLocation: sourceLocation)
    #expect(!end.description.contains("cannot be written"), sourceLocation: sourceLocation)
  }

  @Test func `works that wait behind a refused group fail, too`() async throws {
    try await test.write { try $0.prepareRoom() }
    journal.end("deposed")
    let results = await group((0..<1_500).map { draft("\($0)") })
    #expect(results.allSatisfy { $0 == .failure(.ended(reason: "deposed")) })
    // The second group ran no transaction.
    #expect(journal.now.refused == 1)
    try expectEqualReplica()
  }

  @Test func `a commit that fails after the decision ends the store`() async throws {
    try await test.write { try $0.prepareRoom() }
    let works: [@Sendable (Transaction) throws -> Void] = [
      { _ = try $0.messages.append(draft("lost")) },
      { transaction in
        // Only COMMIT checks this.
        try transaction.db.execute(
          sql: """
            PRAGMA defer_foreign_keys = ON;
            INSERT INTO members (room, user, read, received) VALUES (999, 999, 0, 0)
            """)
      },
    ]
    let results = await group(works)
    for result in results {
      let error = #expect(throws: StoreError.self) { try result.get() }
      #expect(error?.code == .ended)
      #expect(error?.description.contains("the journal has") == true)
    }
    #expect(journal.groups.count == 2)
    #expect(journal.now.committed == 1)
    #expect(journal.now.failedCommits == 1)
    #expect(try test.store.replicatedState().position == "1")
    await #expect(throws: StoreError.self) { try await self.test.write { _ in } }
    #expect(journal.groups.count == 2)
  }

  @Test func `a store that has ended can be closed, and another one goes on`() async throws {
    try await test.write { try $0.prepareRoom() }
    journal.end("deposed")
    _ = try? await test.write { try $0.messages.append(draft("lost")) }
    test.store.close()
    let next = MemoryJournal(groups: journal.groups)
    let store = try Store(folder: test.folder, journal: next, clock: StoreClock(now: { TestStore.time })) {
      for each in $0 { each() }
    }
    defer { store.close() }
    #expect(store.position == "1")
    #expect(try await store.write { try $0.messages.append(draft("kept")).seq } == 1)
    #expect(try store.replicatedState().position == "2")
  }

  // MARK: Starts

  @Test func `a store with a journal changes no replicated row at its start, and has no run file`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft("one", jobs: [job()], cursorFollows: true))
    }
    let state = try test.store.replicatedState()
    test.store.close()
    let store = try Store(folder: test.folder, journal: journal) { _ in }
    defer { store.close() }
    #expect(store.loss == nil)
    #expect(try store.replicatedState() == state)
    #expect(!FileManager.default.fileExists(atPath: test.folder + "/" + RunRecord.name))
  }

  @Test func `a store with a journal needs a file that follows a log`() throws {
    #expect(throws: StoreError.unusable(path: folder + "/stillwire.db", reason: "the file does not exist")) {
      try Store(folder: folder, journal: journal) { _ in }
    }
    try Replica(folder: folder).close()
    #expect(throws: StoreError.unusable(path: folder + "/stillwire.db", reason: "it follows no log")) {
      try Store(folder: folder, journal: journal) { _ in }
    }
  }

  @Test func `a store with a journal runs no migration`() throws {
    try Store(folder: folder) { _ in }.close()
    let queue = try DatabaseQueue(path: folder + "/stillwire.db")
    try queue.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM grdb_migrations") }
    try queue.close()
    let error = #expect(throws: StoreError.self) { try Store(folder: folder, journal: journal) { _ in } }
    #expect(error?.description.contains("migration") == true)
  }

  @Test(arguments: [true, false])
  func `a file that leaves its cluster begins new epochs and cancels its pushes, once`(hasRun: Bool) async throws {
    func open() throws -> Store {
      try Store(folder: folder, clock: StoreClock(now: { TestStore.time })) { for completion in $0 { completion() } }
    }
    // A run as a single node before the cluster leaves its file beside the database.
    if hasRun { try open().close() }
    try followLog(folder)
    let store = try Store(folder: folder, journal: journal, clock: StoreClock(now: { TestStore.time })) {
      for each in $0 { each() }
    }
    try await store.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft("one", jobs: [job()], cursorFollows: true))
    }
    store.close()
    let single = try open()
    #expect(single.loss == .restored)
    #expect(try await single.read { try $0.rooms.snapshot(room)?.state.epoch } != "epoch")
    #expect(try await single.read { try $0.queue.jobCounts() } == [.cancelled: 1])
    single.close()
    let again = try open()
    #expect(again.loss == nil)
    again.close()
    // The file has commits of its own, so it follows the log no more.
    #expect(throws: StoreError.unusable(path: folder + "/stillwire.db", reason: "it follows no log")) {
      try Store(folder: folder, journal: journal) { _ in }
    }
  }

  // MARK: Random works

  @Test(arguments: 1...12) func `a replica equals the store after random works`(seed: Int) async throws {
    var random = SeededGenerator(seed: seed)
    try refuse(body: "refused")
    try await test.write { transaction in
      for room in JobPropertyTests.rooms { try transaction.prepareRoom(room) }
      for device in JobPropertyTests.devices { try transaction.devices.register(device, of: bob.id, now: .at(0)) }
      for room in JobPropertyTests.rooms {
        for _ in JobPropertyTests.messages { _ = try transaction.messages.append(draft(in: room)) }
      }
    }
    let claims = Claims()
    for step in 0..<60 {
      let works = (0..<Int.random(in: 1...6, using: &random)).map { _ in RandomWork(step: step, random: &random) }
      let isDone = DispatchGroup()
      test.gather {
        for work in works {
          isDone.enter()
          work.submit(to: test.store, claims) { isDone.leave() }
        }
      }
      await withCheckedContinuation { continuation in
        isDone.notify(queue: .global()) { continuation.resume() }
      }
    }
    #expect(journal.groups.count > 30)
    #expect(journal.now.committed == journal.groups.count)
    #expect(test.store.statistics.failures > 0)
    try expectEqualReplica()
    try expectEqualReplica(inBatches: &random)
  }

  /// Applies the journal to another replica in random batches, and opens the file again between them.
  private func expectEqualReplica(inBatches random: inout SeededGenerator) throws {
    let folder = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var left = journal.groups[...]
    var replica = try Replica(folder: folder)
    while !left.isEmpty {
      let batch = left.prefix(Int.random(in: 1...9, using: &random))
      left = left.dropFirst(batch.count)
      try replica.apply(Array(batch), position: "\(left.startIndex)")
      guard Int.random(in: 0..<8, using: &random) == 0 else { continue }
      replica.close()
      replica = try Replica(folder: folder)
      #expect(replica.position == "\(left.startIndex)")
    }
    #expect(try replica.hash() == test.store.replicatedState().hash)
    replica.close()
  }
}

/// The claims of works that were committed or not.
private final class Claims: Sendable {
  private let all = Mutex<[Claim]>([])

  func change(_ change: ([Claim]) throws -> [Claim]) throws {
    let new = try change(all.withLock { $0 })
    all.withLock { $0 = ($0 + new).suffix(3) }
  }
}

/// A work that succeeds, fails, or loses the whole transaction.
private struct RandomWork {
  private struct OwnError: Error {}

  private let kind: Int
  private let number: Int
  private let room: RoomID
  private let sender: User
  private let change: JobPropertyTests.Change

  init(step: Int, random: inout SeededGenerator) {
    kind = Int.random(in: 0..<48, using: &random)
    number = Int.random(in: 0..<20, using: &random)
    room = JobPropertyTests.rooms.randomElement(using: &random) ?? JobPropertyTests.rooms[0]
    sender = [alice, bob, User(id: UserID(unchecked: "carol-\(number)"), name: "Carol")][number % 3]
    change = JobPropertyTests.Change(now: .at(Int64(step)), random: &random)
  }

  func submit(to store: Store, _ claims: Claims, done: @escaping @Sendable () -> Void) {
    let (kind, number, room, made, sender, change) = (kind, number, room, made, sender, change)
    var message = draft(
      kind == 0 ? "refused" : "\(number)", in: room, from: sender, key: kind < 6 ? "\(number)" : nil,
      cursorFollows: kind.isMultiple(of: 2))
    message.retention = Retention(count: 10)
    if kind < 16 { return store.append(message) { _ in done() } }
    let work: @Sendable (Transaction) throws -> Void = { [message] transaction in
      switch kind {
      case 16: _ = try transaction.rooms.join(sender, room: room, epoch: "epoch", now: .at(0))
      case 17: try transaction.rooms.leave(sender.id, room: room)
      case 18:
        _ = try transaction.messages.append(message)
        throw OwnError()
      case 19:
        _ = try transaction.messages.append(message)
        try transaction.db.execute(sql: "UPDATE members SET read = CASE WHEN user = 2 THEN 'no' ELSE 7 END")
      case 20:
        _ = try transaction.messages.append(message)
        try transaction.db.execute(sql: "ROLLBACK")
        throw OwnError()
      case 21: _ = try transaction.messages.trim(room, to: Retention(count: 3), maxDeleted: number)
      case 22: _ = try transaction.messages.edit(room, Int64(number), body: Array("\"edited\"".utf8))
      case 23:
        try transaction.devices.register(phone("phone-\(number)", token: "\(number)"), of: sender.id, now: .at(0))
      case 24: try transaction.db.execute(sql: "DELETE FROM silenced")
      case 40...47: try changeRoom(made, kind, by: sender, number, transaction)
      default: try claims.change { try change.apply(to: transaction, $0) }
      }
    }
    store.submit(work) { _ in done() }
  }

  /// A room that only these works create, change and delete.
  private let made = RoomID(unchecked: "made")
}

/// Creates a room, or changes or deletes it.
private func changeRoom(_ room: RoomID, _ kind: Int, by user: User, _ number: Int, _ transaction: Transaction) throws {
  let members = [alice.id, bob.id].filter { $0 != user.id }
  switch kind {
  case 40, 41:
    _ = try transaction.rooms.make(
      RoomDraft(
        room: room, epoch: "epoch", details: RoomDetails(title: "\(number)"), creator: user,
        members: members + [UserID(unchecked: "stranger-\(number)")],
        invited: Set([UserID(unchecked: "stranger-\(number)")] + members.filter { _ in kind == 41 }),
        key: "\(number)", bounds: MembershipBounds(invitations: 2)))
    _ = try transaction.invitations.expire()
  case 42:
    _ = try transaction.rooms.makeDirect(
      RoomDraft(
        room: RoomID(unchecked: "direct.\(number)"), epoch: "epoch", details: RoomDetails(kind: .direct), creator: user,
        members: members, invited: Set(members.filter { _ in number.isMultiple(of: 2) })))
    for member in members { _ = try transaction.invitations.decline(room, by: member) }
  case 43:
    _ = try transaction.rooms.update(room, RoomChange(title: "\(number)", metadata: Array("{}".utf8)), by: .backend)
  case 44, 45: _ = try transaction.messages.append(draft("\(number)", in: room, key: "made", jobs: [job()]))
  case 46 where number > 10: try transaction.rooms.delete(room, by: .backend)
  case 46:
    _ = try transaction.rooms.remove(user.id, from: room, by: .backend, ban: RoomBan())
    _ = try transaction.rooms.add(bob, to: room, by: .backend, now: .at(0), within: MembershipBounds())
    try transaction.rooms.setRole(.moderator, of: bob.id, in: room, by: .backend)
    try transaction.rooms.restrict(bob.id, in: room, by: .backend, until: TestStore.time + .seconds(number))
    _ = try transaction.reports.add("spam", about: MessageReference(room: room, seq: 1), by: bob.id)
    _ = try transaction.messages.delete(room, 1, moderator: bob.id)
    try transaction.addAudit("removeMember", [user.id, bob.id], room: room, request: "\(number)", max: 9)
    _ = try transaction.audit.purge(olderThan: .seconds(1), max: max(1, number))
    _ = try transaction.audit.replace(user.id, by: UserID(unchecked: "erased-\(number)"), rows: 6)
  default: _ = try transaction.rooms.sweepDeleted(max: number)
  }
}
