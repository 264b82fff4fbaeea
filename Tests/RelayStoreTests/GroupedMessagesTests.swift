// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// Messages that share the updates of their transaction. They must store the same as single messages.
@Suite struct GroupedMessagesTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private static let carol = User(id: UserID(unchecked: "carol"))
  private static let other = RoomID(unchecked: "other")

  private enum Step: Sendable {
    case message(MessageDraft)
    case work(@Sendable (Transaction) throws -> Void)
  }

  private typealias Results = [Result<Appended?, StoreError>]

  /// Submits the steps as one group.
  private func group(_ steps: [Step]) async -> Results {
    let results = Mutex<Results>([])
    await withCheckedContinuation { continuation in
      let note: @Sendable (Result<Appended?, StoreError>) -> Void = { result in
        let count = results.withLock { results in
          results.append(result)
          return results.count
        }
        if count == steps.count { continuation.resume() }
      }
      test.gather {
        for step in steps {
          switch step {
          case .message(let draft): test.store.append(draft) { note($0.map(Optional.some)) }
          case .work(let work): test.store.submit(work) { note($0.map { nil }) }
          }
        }
      }
    }
    return results.withLock { $0 }
  }

  private func group(_ drafts: [MessageDraft]) async -> Results { await group(drafts.map(Step.message)) }

  /// Returns all rows that a message can change.
  private func rows(_ test: TestStore) async throws -> [String] {
    try await test.read { reader in
      var rows: [String] = []
      for table in ["messages", "rooms", "members", "users", "keys", "silenced"] {
        for row in try Row.fetchAll(reader.db, sql: "SELECT * FROM \(table)") { rows.append("\(table) \(row)") }
      }
      // The random columns of jobs are left out.
      for row in try Row.fetchAll(reader.db, sql: "SELECT room, seq, user FROM jobs") { rows.append("jobs \(row)") }
      return rows
    }
  }

  private func prepare(_ test: TestStore) async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.join(alice, room: Self.other, epoch: "other", now: TestStore.time)
    }
  }

  private static func mixed() -> [MessageDraft] {
    var drafts = (0..<60).map { (index: Int) -> MessageDraft in
      var message = draft("\(index)", from: index.isMultiple(of: 2) ? alice : bob, at: .at(Int64(index)))
      if index.isMultiple(of: 3) { message.room = other }
      if index.isMultiple(of: 5) { message.key = "key\(index % 20)" }
      if index.isMultiple(of: 11) { message.jobs = [job()] }
      message.cursorFollows = !index.isMultiple(of: 7)
      return message
    }
    drafts[3].mentions = [bob.id]
    drafts[4].replyTo = 1
    drafts[4].quoting = .preview
    drafts[5].push = PushRequest("false")
    drafts[5].isCounted = false
    drafts[6].push = PushRequest(#"{"level":"passive","category":"c","collapse":"room"}"#)
    drafts[8].reports = true
    drafts[9].from = carol  // has no row yet, and is not a member
    drafts[10].from = carol
    drafts[12].from = User(id: alice.id, name: "Alice the Second")
    drafts[13].silenced = [bob.id]
    drafts[14].retention = Retention(count: 2)
    return drafts
  }

  @Test func `a group of messages stores the same as single messages`() async throws {
    let single = try TestStore()
    try await prepare(single)
    try await prepare(test)
    var expected: Results = []
    for draft in Self.mixed() {
      let stored = try await single.write { try $0.messages.append(draft) }
      expected.append(.success(stored))
    }
    let stored = await group(Self.mixed())
    func facts(_ results: Results) throws -> [Appended?] {
      try results.map { result in
        var appended = try result.get()
        appended?.jobs = []
        return appended
      }
    }
    #expect(try facts(stored) == facts(expected))
    #expect(try await rows(test) == rows(single))
    #expect(test.groups.all.last == 60)
  }

  @Test func `a later group continues after the earlier one`() async throws {
    try await prepare(test)
    for count in 1...3 {
      let seqs = await group((0..<5).map { draft("\($0)", cursorFollows: true) }).map { try? $0.get()?.seq }
      #expect(seqs == (1...5).map { Int64(5 * (count - 1) + $0) })
      let state = try await test.read { try $0.rooms.snapshot(room)?.state }
      #expect(state == RoomState(room: room, epoch: "epoch", seq: Int64(5 * count), cursor: Int64(5 * count)))
    }
  }

  @Test func `a work sees the earlier messages, and later messages see its changes`() async throws {
    try await prepare(test)
    let seen = Mutex<[Int64?]>([])
    let note: @Sendable (Transaction) throws -> Void = { transaction in
      let found = try transaction.reader.rooms.snapshot(room)
      seen.withLock { $0 += [found?.state.seq, found?.members.first { $0.user.id == alice.id }?.read] }
    }
    let results = await group([
      .message(draft()), .message(draft()), .work(note),
      .work { try $0.rooms.leave(bob.id, room: room) },
      .work { _ = try $0.messages.append(draft("by a work")) },
      .message(draft()), .work(note),
    ])
    #expect(results.compactMap { try? $0.get()?.seq } == [1, 2, 4])
    #expect(seen.withLock { $0 } == [2, 2, 4, 4])
  }

  @Test func `a failing work undoes no earlier message`() async throws {
    struct OwnError: Error {}
    try await prepare(test)
    let results = await group([
      .message(draft("one", key: "k")),
      .work { transaction in
        _ = try transaction.messages.append(draft("undone"))
        throw OwnError()
      },
      .message(draft("two")), .message(draft("again", key: "k")),
    ])
    #expect(results.map { try? $0.get()?.seq } == [1, nil, 2, 1])
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 2)
    #expect(try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages.count } == 2)
  }

  /// Makes SQLite reject messages with the body `"bad"`, which undoes one statement.
  private func refuseBad() async throws {
    try await test.write { transaction in
      try transaction.db.execute(
        sql: """
          CREATE TRIGGER bad BEFORE INSERT ON messages WHEN NEW.body = CAST('"bad"' AS BLOB)
          BEGIN SELECT RAISE(ABORT, 'bad'); END
          """)
    }
  }

  @Test func `a failing message undoes only its own seq and key`() async throws {
    try await prepare(test)
    try await refuseBad()
    let results = await group([
      draft("one"), draft("bad"), draft("bad", key: "k"), draft("two", key: "k"), draft("three", key: "k"),
      draft(in: RoomID(unchecked: "none")), draft("four"),
    ])
    #expect(results.map { try? $0.get()?.seq } == [1, nil, nil, 2, 2, nil, 3])
    #expect(results[1] == .failure(.failed(reason: "bad")))
    #expect(results[5] == .failure(.noRoom(RoomID(unchecked: "none"))))
    let bodies = try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages.map(\.body) }
    #expect(bodies == ["one", "two", "four"].map { Array("\"\($0)\"".utf8) })
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 3)
  }

  @Test func `a key that cannot be undone fails the whole group`() async throws {
    try await prepare(test)
    try await refuseBad()
    try await test.write { transaction in
      try transaction.db.execute(
        sql: "CREATE TRIGGER kept BEFORE DELETE ON keys BEGIN SELECT RAISE(ABORT, 'kept'); END")
    }
    let results = await group([draft("one"), draft("bad", key: "k"), draft("two")])
    #expect(results.allSatisfy { (try? $0.get()) == nil })
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 0)
    #expect(await group([draft("one")]).map { try? $0.get()?.seq } == [1])
  }

  @Test func `a key expires after five minutes in a group, too`() async throws {
    try await prepare(test)
    var results = await group([draft(key: "k")])
    for (pass, time) in [(299_999, 299_999), (1, 300_000), (1, 300_001)] as [(Int, Int64)] {
      test.clocks.pass(.milliseconds(pass))
      results += await group([draft(at: .at(time), key: "k")])
    }
    #expect(results.map { try? $0.get()?.seq } == [1, 1, 2, 2])
    #expect(results.map { try? $0.get()?.isDuplicate } == [false, true, false, true])
    #expect(try results[3].get()?.time == .at(300_000))
  }

  @Test func `new groups delete expired keys`() async throws {
    try await prepare(test)
    _ = await group((0..<500).map { draft(key: "old\($0)") })
    test.clocks.pass(.seconds(300))
    _ = await group((0..<300).map { draft(key: "new\($0)") })
    #expect(try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM keys") } == 300)
  }

  @Test func `a group of any size trims its rooms`() async throws {
    try await prepare(test)
    for _ in 0..<3 {
      _ = await group(
        (0..<500).map {
          var draft = draft("\($0)", cursorFollows: true)
          draft.retention = Retention(count: 10)
          return draft
        })
    }
    let kept = try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM messages") ?? 0 }
    #expect(kept < 10 + Int(MessageWriter.trimmedAtOnce))
    #expect(try await test.read { try $0.messages.page(room, after: 1_490, limit: 20)?.messages.count } == 10)
  }
}
