// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Notify Anyway: the users who may be notified, and its limits.
@Suite struct NotifyTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.join(Self.carol, room: room, epoch: "e", now: .at(0))
    }
  }

  private static let carol = User(id: UserID(unchecked: "carol"))

  private func send(
    from user: User = alice, silenced: [UserID] = [bob.id], jobs: [PlannedPush] = []
  ) async throws -> Int64 {
    try await test.write { transaction in
      var message = draft(from: user, jobs: jobs)
      message.silenced = silenced
      return try transaction.messages.append(message).seq
    }
  }

  private func notify(_ seq: Int64, by user: User = alice, users: [UserID]? = nil) async throws -> Notified? {
    try await test.write { try $0.silenced.notify(room, seq, by: user.id, users: users) }
  }

  private func silenced(_ seq: Int64) async throws -> [UserID] {
    try await test.read { try $0.queue.silenced(room, seq) }
  }

  @Test func `the silenced users are stored with the message`() async throws {
    let seq = try await send(silenced: [Self.carol.id, UserID(unchecked: "nobody"), bob.id])
    #expect(try await silenced(seq) == [bob.id, Self.carol.id])
    let other = try await send(silenced: [])
    #expect(try await silenced(other) == [])
    #expect(try await test.read { try $0.queue.silenced(RoomID(unchecked: "none"), seq) } == [])
  }

  @Test func `a message that is not stored has no silenced users`() async throws {
    struct Undone: Error {}
    await #expect(throws: StoreError.self) {
      try await test.write { transaction in
        var message = draft()
        message.silenced = [bob.id]
        _ = try transaction.messages.append(message)
        throw Undone()
      }
    }
    let seq = try await send(silenced: [])
    #expect(try await silenced(seq) == [])
  }

  @Test func `each user is notified once for a message`() async throws {
    let seq = try await send(silenced: [bob.id, Self.carol.id])
    let nobody = UserID(unchecked: "nobody")
    #expect(try await notify(seq, users: []) == .users([]))
    #expect(try await notify(seq, users: [bob.id, alice.id, nobody]) == .users([bob.id]))
    #expect(try await notify(seq, users: [bob.id]) == .users([]))
    #expect(try await notify(seq) == .users([Self.carol.id]))
    #expect(try await notify(seq) == .users([]))
    let next = try await send()
    #expect(try await notify(next) == .users([bob.id]))
  }

  @Test func `only the sender may notify, and only about a stored message`() async throws {
    let seq = try await send()
    #expect(try await notify(seq, by: bob) == .notSender)
    #expect(try await notify(seq, by: User(id: UserID(unchecked: "nobody"))) == .notSender)
    #expect(try await notify(seq + 1) == nil)
    #expect(
      try await test.write { try $0.silenced.notify(RoomID(unchecked: "none"), seq, by: alice.id) } == nil)
    try await test.write { _ = try $0.messages.delete(room, seq) }
    #expect(try await notify(seq) == nil)
    #expect(try await silenced(seq) == [bob.id])
  }

  /// Steps of the wall clock in seconds.
  private static let steps = [0, 600, -3_600, 40 * 86_400]

  @Test(arguments: steps)
  func `the sender may notify until exactly ten minutes after the message`(step: Int) async throws {
    let (first, second) = (try await send(), try await send())
    test.clocks.pass(.seconds(300))
    test.clocks.set(by: .seconds(step))
    test.clocks.pass(.milliseconds(299_999))
    #expect(try await notify(first) == .users([bob.id]))
    test.clocks.pass(.milliseconds(1))
    #expect(try await notify(second) == .tooLate)
  }

  @Test(arguments: steps)
  func `a message that silenced nobody is too old after ten minutes, too`(step: Int) async throws {
    let seq = try await send(silenced: [])
    test.clocks.pass(.seconds(300))
    test.clocks.set(by: .seconds(step))
    test.clocks.pass(.milliseconds(299_999))
    #expect(try await notify(seq) == .users([]))
    test.clocks.pass(.milliseconds(1))
    #expect(try await notify(seq) == .tooLate)
    // It stays too old when the clock is set to a time before the message.
    test.clocks.set(by: .seconds(-3_600))
    test.clocks.pass(.seconds(601))
    #expect(try await notify(seq) == .tooLate)
  }

  @Test(arguments: steps)
  func `a sender may notify a recipient five times a minute`(step: Int) async throws {
    for _ in 0..<5 {
      #expect(try await notify(send()) == .users([bob.id]))
      test.clocks.pass(.milliseconds(10))
    }
    let seq = try await send(silenced: [bob.id, Self.carol.id])
    test.clocks.set(by: .seconds(step))
    test.clocks.pass(.milliseconds(59_949))
    #expect(try await notify(seq) == .tooMany(retryAfter: .milliseconds(1)))
    // No user was notified, so the sender may notify another one alone.
    #expect(try await notify(seq, users: [Self.carol.id]) == .users([Self.carol.id]))
    // Each sender has a limit of its own.
    let other = try await send(from: Self.carol)
    #expect(try await notify(other, by: Self.carol) == .users([bob.id]))
    test.clocks.pass(.milliseconds(1))
    #expect(try await notify(seq) == .users([bob.id]))
    test.clocks.pass(.milliseconds(1))
    #expect(try await notify(send()) == .tooMany(retryAfter: .milliseconds(9)))
  }

  @Test(arguments: steps)
  func `silenced users are deleted when the sender cannot notify them any more`(step: Int) async throws {
    let old = try await send()
    test.clocks.pass(.milliseconds(1))
    let young = try await send()
    test.clocks.set(by: .seconds(step))
    test.clocks.pass(.milliseconds(659_998))
    #expect(try await test.write { try $0.silenced.purge() } == 0)
    #expect(try await silenced(old) == [bob.id])
    test.clocks.pass(.milliseconds(1))
    #expect(try await test.write { try $0.silenced.purge() } == 1)
    #expect(try await silenced(old) == [])
    #expect(try await silenced(young) == [bob.id])
  }

  @Test func `each message deletes more old rows than it adds, up to a limit`() async throws {
    try await test.write { transaction in
      try transaction.db.execute(
        sql: """
          WITH RECURSIVE seqs(seq) AS (SELECT 1001 UNION ALL SELECT seq + 1 FROM seqs WHERE seq < 1020)
          INSERT INTO silenced SELECT rooms.id, seqs.seq, users.id, users.id, 0, NULL FROM rooms, users, seqs
          WHERE users.name = 'bob'
          """)
    }
    _ = try await send(silenced: [bob.id, Self.carol.id])
    let left = try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM silenced") }
    #expect(left == 20 - 4 + 2)
    let purged = try await test.write { transaction in try (0..<3).map { _ in try transaction.silenced.purge(max: 15) }
    }
    #expect(purged == [15, 1, 0])
  }
}

/// The pushes of a Notify Anyway.
@Suite struct NotifyAnywayTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { try $0.prepareRoom() }
  }

  private static let anyway: PlannedPush = {
    var draft = job()
    draft.explanation.facts.message.isNotifyAnyway = true
    draft.level = .active
    return draft
  }()

  private static func held(_ device: Device = phone()) -> PlannedPush {
    var draft = job(device, due: .at(9_000))
    draft.isHeld = true
    draft.level = .passive
    return draft
  }

  private func append(_ drafts: [PlannedPush]) async throws -> [String] {
    try await test.write { transaction in
      for draft in drafts { _ = try transaction.messages.append(RelayStoreTests.draft(jobs: [draft])) }
      return try transaction.reader.queue.jobs(limit: drafts.count).reversed().map(\.id)
    }
  }

  private func insert(_ seq: Int64) async throws -> [String] {
    try await test.write { try $0.queue.insert([Self.anyway], room: room, seq: seq) }
  }

  @Test func `a held push is sent at once`() async throws {
    let ids = try await append([Self.held()])
    #expect(try await insert(1) == ids)
    let claims = try await test.claim()
    #expect(claims.map(\.id) == ids)
    #expect(claims.map(\.shown?.isNotifyAnyway) == [true])
    #expect(claims.map(\.shown?.level) == [.active])
    #expect(try await test.record(ids[0]).explanation == Array(StoredJSON.text(of: Self.anyway.explanation).utf8))
  }

  @Test func `a push that was not sent yet notifies anyway`() async throws {
    let ids = try await append([job(due: .at(900))])
    #expect(try await insert(1) == ids)
    #expect(try await test.claim().map(\.shown?.isNotifyAnyway) == [true])
  }

  @Test func `a push that waits for a retry keeps its due time`() async throws {
    let ids = try await append([job()])
    _ = try await test.claim()
    try await test.write { try $0.queue.retry(ids[0], due: .at(500)) }
    #expect(try await insert(1) == ids)
    #expect(try await test.claim(now: .at(499)) == [])
    #expect(try await test.claim(now: .at(500)).map(\.shown?.isNotifyAnyway) == [true])
  }

  @Test(arguments: [FinishedState.sent, .dead, .expired, .cancelled])
  func `a second push follows a finished one and replaces it`(state: FinishedState) async throws {
    let ids = try await append([job()])
    _ = try await test.claim()
    try await test.write { try $0.queue.finish(ids[0], state: state, now: .at(0)) }
    let second = try await insert(1)
    #expect(second.count == 1 && second != ids)
    let claims = try await test.claim()
    #expect(claims.map(\.id) == second)
    #expect(claims.map(\.shown?.isNotifyAnyway) == [true])
    #expect(claims.map(\.shown?.collapse) == [MessageReference(room: room, seq: 1)])
    #expect(try await test.record(second[0]).round == 1)
    #expect(try await test.record(ids[0]).state.rawValue == state.rawValue)
  }

  @Test func `a second push follows one that is being sent`() async throws {
    let ids = try await append([job(), job()])
    #expect(try await test.claim().map(\.id) == [ids[0]])
    let second = try await insert(1)
    #expect(try await test.claim() == [])
    try await test.write { try $0.queue.finish(ids[0], state: .sent, now: .at(0)) }
    #expect(try await test.claim().map(\.id) == second)
    try await test.write { try $0.queue.finish(second[0], state: .sent, now: .at(0)) }
    #expect(try await test.claim().map(\.id) == [ids[1]])
  }

  @Test func `there is no third push`() async throws {
    let ids = try await append([job(), Self.held()])
    _ = try await test.claim()
    let second = try await insert(1)
    #expect(try await insert(1) == [])
    try await test.write { transaction in
      for id in ids + second { try transaction.queue.finish(id, state: .sent, now: .at(0)) }
    }
    #expect(try await insert(1) == [])
    #expect(try await test.read { try $0.queue.jobs(limit: 9).count } == 3)
  }

  @Test func `a Notify Anyway without an earlier job is the first push`() async throws {
    try await test.write { _ = try $0.messages.append(draft()) }
    let ids = try await insert(1)
    #expect(try await test.claim().map(\.id) == ids)
    #expect(try await test.record(ids[0]).round == 0)
    #expect(try await insert(1) == [])
  }

  @Test func `a deleted device gets no push`() async throws {
    let ids = try await append([job()])
    try await test.write { transaction in
      try transaction.queue.finish(ids[0], state: .sent, now: .at(0))
      try transaction.devices.forget(phone().id, of: bob.id)
    }
    #expect(try await insert(1) == [])
    #expect(try await test.claim() == [])
  }

  @Test func `a merged job leaves a digest that was not sent`() async throws {
    let ids = try await append([Self.held(), Self.held(), Self.held()])
    try await test.write { transaction in
      for id in ids.prefix(2) { try transaction.queue.decide(id, .merge(into: ids[2])) }
    }
    #expect(try await insert(1) == [ids[0]])
    #expect(try await test.record(ids[0]).mergedInto == nil)
    let claim = try #require(try await test.claim().first)
    #expect(claim.id == ids[0])
    #expect(claim.shown?.collapse == MessageReference(room: room, seq: 1))
    #expect(try await test.record(ids[2]).state == .held)
    #expect(try await test.record(ids[1]).mergedInto == ids[2])
  }

  @Test func `the head of a digest that was not sent leaves the others`() async throws {
    let ids = try await append([Self.held(), Self.held(), Self.held()])
    try await test.write { transaction in
      for id in ids.prefix(2) { try transaction.queue.decide(id, .merge(into: ids[2])) }
    }
    #expect(try await insert(3) == [ids[2]])
    let claims = try await test.claim()
    #expect(claims.map(\.id) == [ids[2]])
    #expect(claims.map(\.shown?.count) == [1])
    #expect(try await test.record(ids[1]).state == .held)
    #expect(try await test.record(ids[1]).due == .at(9_000))
    #expect(try await test.record(ids[0]).mergedInto == ids[1])
  }

  @Test(arguments: [true, false], [1, 2] as [Int64])
  func `a Notify Anyway replaces the push of a digest that was sent`(isFinished: Bool, seq: Int64) async throws {
    let ids = try await append([Self.held(), Self.held()])
    try await test.write { transaction in
      try transaction.queue.decide(ids[0], .merge(into: ids[1]))
      try transaction.queue.decide(ids[1], .push(.active))
    }
    _ = try await test.claim()
    if isFinished { try await test.write { try $0.queue.finish(ids[1], state: .sent, now: .at(0)) } }
    let second = try await insert(seq)
    #expect(second.count == 1)
    if !isFinished { try await test.write { try $0.queue.finish(ids[1], state: .sent, now: .at(0)) } }
    let claims = try await test.claim()
    #expect(claims.map(\.id) == second)
    #expect(claims.map(\.shown?.message.seq) == [seq])
    #expect(claims.map(\.shown?.collapse) == [MessageReference(room: room, seq: 2)])
  }

  @Test func `a Notify Anyway is not merged, and no job is merged into it`() async throws {
    let ids = try await append([Self.held(), Self.held()])
    let results = try await test.write { transaction in
      try transaction.queue.insert([Self.anyway], room: room, seq: 1)
      return try [
        transaction.queue.decide(ids[0], .merge(into: ids[1])), transaction.queue.decide(ids[1], .merge(into: ids[0])),
      ]
    }
    #expect(results == [false, false])
  }
}
