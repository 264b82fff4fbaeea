// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// The groups of works that one transaction commits.
@Suite struct GroupCommitTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private struct OwnError: Error {}

  /// Submits works as one group. Returns each result with its index, in the order of completion.
  private func group<T: Sendable>(
    _ works: [@Sendable (Transaction) throws -> T]
  ) async -> [(Int, Result<T, StoreError>)] {
    let results = Mutex<[(Int, Result<T, StoreError>)]>([])
    await withCheckedContinuation { continuation in
      test.gather {
        for (index, work) in works.enumerated() {
          test.store.submit(work) { result in
            let count = results.withLock { results in
              results.append((index, result))
              return results.count
            }
            if count == works.count { continuation.resume() }
          }
        }
      }
    }
    return results.withLock { $0 }
  }

  @Test func `works that are submitted during a commit become one group, in their order`() async throws {
    try await test.write { try $0.prepareRoom() }
    let works: [@Sendable (Transaction) throws -> Int64] = (0..<100).map { index in
      { try $0.messages.append(draft("\(index)")).seq }
    }
    let results = await group(works)
    #expect(results.map(\.0) == Array(0..<100))
    #expect(try results.map { try $0.1.get() } == Array(1...100))
    #expect(test.groups.all == [1, 1, 100])
  }

  @Test func `a group has a maximum size`() async throws {
    let works: [@Sendable (Transaction) throws -> Int] = (0..<2_500).map { index in { _ in index } }
    let results = await group(works)
    #expect(results.map(\.0) == Array(0..<2_500))
    #expect(test.groups.all == [1, 1_000, 1_000, 500])
  }

  @Test(arguments: [
    ([], 0), ([1], 1), ([1_000, 1], 1), ([999, 1, 1], 2), ([5_000], 1), ([5_000, 1], 1), ([1, 5_000], 1),
    ([0, 0, 0], 3), (Array(repeating: 0, count: 2_000), 1_000), (Array(repeating: 901, count: 100), 1),
    (Array(repeating: 129, count: 100), 7),
  ])
  func `a transaction has a maximum of rows, and at least one work`(rows: [Int], count: Int) {
    #expect(GroupCommit.groupSize(of: rows) == count)
  }

  @Test func `works with many rows are split into several transactions, in their order`() async throws {
    let order = Mutex<[Int]>([])
    await withCheckedContinuation { continuation in
      test.gather {
        for index in 0..<10 {
          test.store.submit({ _ in }, rows: 400) { _ in
            if order.withLock({
              $0.append(index); return $0.count == 10
            }) {
              continuation.resume()
            }
          }
        }
      }
    }
    #expect(order.withLock { $0 } == Array(0..<10))
    #expect(test.groups.all == [1, 2, 2, 2, 2, 2])
  }

  @Test func `the rows of an awaited work count as well`() async throws {
    let store = test.store
    var tasks: [Task<Void, any Error>] = []
    let isSubmitted = DispatchSemaphore(value: 0)
    let gate = DispatchSemaphore(value: 0)
    store.submit(
      { _ in
        isSubmitted.signal()
        gate.wait()
      }, completion: { _ in })
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        isSubmitted.wait()
        continuation.resume()
      }
    }
    for _ in 0..<4 { tasks.append(Task.immediate { try await store.write(rows: 500) { _ in } }) }
    gate.signal()
    for task in tasks { try await task.value }
    #expect(test.groups.all == [1, 2, 2])
  }

  @Test func `a work that is not urgent joins the next commit, in its order`() async throws {
    let order = Mutex<[String]>([])
    func submit(_ name: String, isUrgent: Bool, then done: @escaping @Sendable () -> Void = {}) {
      test.store.submit({ _ in order.withLock { $0.append(name) } }, isUrgent: isUrgent) { _ in done() }
    }
    await withCheckedContinuation { continuation in
      submit("late", isUrgent: false)
      submit("later", isUrgent: false)
      submit("urgent", isUrgent: true) { continuation.resume() }
    }
    #expect(order.withLock { $0 } == ["late", "later", "urgent"])
    #expect(test.groups.all == [3])
  }

  @Test func `a work that is not urgent is stored even if no other work follows`() async throws {
    for _ in 0..<2 {
      await withCheckedContinuation { continuation in
        test.store.submit({ try $0.prepareRoom() }, isUrgent: false) { _ in continuation.resume() }
      }
    }
    #expect(test.groups.all == [1, 1])
    #expect(try await test.read { try $0.rooms.snapshot(room) } != nil)
  }

  @Test func `closing the store commits works that are not urgent`() async throws {
    let isStored = Mutex(false)
    test.store.submit({ try $0.prepareRoom() }, isUrgent: false) { result in
      isStored.withLock { $0 = (try? result.get()) != nil }
    }
    test.store.close()
    #expect(isStored.withLock { $0 })
  }

  @Test func `a failing work undoes only its own writes and its seq`() async throws {
    try await test.write { try $0.prepareRoom() }
    let works: [@Sendable (Transaction) throws -> Int64] = [
      { try $0.messages.append(draft("one")).seq },
      { transaction in
        _ = try transaction.messages.append(draft("undone", from: User(id: UserID(unchecked: "carol")), key: "k"))
        _ = try transaction.rooms.create(RoomID(unchecked: "undone"), epoch: "e")
        throw OwnError()
      },
      { try $0.messages.append(draft("two")).seq },
      { try $0.messages.append(draft(in: RoomID(unchecked: "none"))).seq },
      { try $0.messages.append(draft("three", from: User(id: UserID(unchecked: "carol")), key: "k")).seq },
    ]
    let results = await group(works)
    #expect(
      results.map(\.1) == [
        .success(1), .failure(.failed(reason: "OwnError")), .success(2),
        .failure(.noRoom(RoomID(unchecked: "none"))), .success(3),
      ])
    let bodies = try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages.map(\.body) }
    #expect(bodies == ["one", "two", "three"].map { Array("\"\($0)\"".utf8) })
    #expect(try await test.read { try $0.rooms.snapshot(RoomID(unchecked: "undone")) } == nil)
    #expect(try await test.read { try $0.people.users([UserID(unchecked: "carol")]).count } == 1)
  }

  @Test func `a failed commit fails the whole group, and its seqs are used again`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft("kept")) }
    let works: [@Sendable (Transaction) throws -> Int64] = [
      { try $0.messages.append(draft("lost")).seq },
      { transaction in
        // Only COMMIT checks this.
        try transaction.db.execute(
          sql: """
            PRAGMA defer_foreign_keys = ON;
            INSERT INTO members (room, user, read, received) VALUES (999, 999, 0, 0)
            """)
        return 0
      },
      { transaction in
        _ = try transaction.rooms.join(User(id: UserID(unchecked: "dave")), room: room, epoch: "e", now: .at(0))
        return try transaction.messages.append(draft("lost")).seq
      },
    ]
    let results = await group(works)
    #expect(results.map(\.0) == [0, 1, 2])
    for (_, result) in results {
      let error = #expect(throws: StoreError.self) { try result.get() }
      #expect(error?.code == .unavailable)
    }
    let dave = User(id: UserID(unchecked: "dave"))
    #expect(try await test.write { try $0.messages.append(draft("again", from: dave)).seq } == 2)
    #expect(try await test.read { try $0.messages.page(room, after: 0, limit: 9)?.messages.count } == 2)
    #expect(try await test.read { try $0.rooms.isMember(dave.id, of: room) } == false)
  }

  @Test func `a transaction that SQLite rolled back fails the whole group`() async throws {
    try await test.write { try $0.prepareRoom() }
    let works: [@Sendable (Transaction) throws -> Int64] = [
      { try $0.messages.append(draft("lost")).seq },
      { transaction in
        try transaction.db.execute(sql: "ROLLBACK")
        throw OwnError()
      },
      { try $0.messages.append(draft("lost")).seq },
    ]
    for (_, result) in await group(works) {
      let error = #expect(throws: StoreError.self) { try result.get() }
      #expect(error?.code == .unavailable)
    }
    #expect(try await test.write { try $0.messages.append(draft()).seq } == 1)
  }

  @Test func `a full disk makes the store unavailable, and the seqs are used again later`() async throws {
    try await test.write { try $0.prepareRoom() }
    try await test.write { _ = try $0.messages.append(draft("kept")) }
    func limitPages(_ count: String) throws {
      try test.store.pool.writeWithoutTransaction { db in
        _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(count)")
      }
    }
    try limitPages("1")
    let text = String(repeating: "x", count: 200_000)
    let works: [@Sendable (Transaction) throws -> Int64] = [
      { try $0.messages.append(draft(text, key: "k")).seq }, { try $0.messages.append(draft(text)).seq },
    ]
    for (_, result) in await group(works) {
      #expect(throws: StoreError.unavailable(reason: "database or disk is full")) { try result.get() }
    }
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 1)

    try limitPages("1000000")
    let appended = try await test.write { try $0.messages.append(draft(text, key: "k")) }
    #expect(appended == Appended(seq: 2, time: .at(0), epoch: "epoch"))
    let page = try await test.read { try $0.messages.page(room, after: 0, limit: 9) }
    #expect(page?.messages.map(\.seq) == [1, 2])
  }
}
