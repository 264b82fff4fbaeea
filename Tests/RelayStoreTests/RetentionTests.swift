// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// The history of rooms, and the deletion of old messages.
@Suite struct RetentionTests {
  let test: TestStore
  init() async throws {
    test = try TestStore()
    try await test.write { try $0.prepareRoom() }
  }

  private static let ten = Retention(count: 10)

  private func append(
    _ count: Int, keeping retention: Retention = ten, decided: Bool = true, jobs: [PlannedPush] = []
  ) async throws {
    try await test.write { transaction in
      for _ in 0..<count {
        var message = draft(jobs: jobs, cursorFollows: decided)
        message.retention = retention
        _ = try transaction.messages.append(message)
      }
    }
  }

  /// Returns all stored messages, in the history or not.
  private func stored() async throws -> [Int64] {
    try await test.read { try Int64.fetchAll($0.db, sql: "SELECT seq FROM messages ORDER BY seq") }
  }

  private func trim(_ retention: Retention, max: Int = 1_000) async throws -> MessageWriter.Trimmed? {
    try await test.write { try $0.messages.trim(room, to: retention, maxDeleted: max) }
  }

  private func aging() async throws -> RoomReader.Aging {
    try #require(try await test.read { try $0.rooms.aging(after: 0, limit: 9) }.rooms.first)
  }

  @Test(arguments: [1, 9, 10, 11, 73, 74, 75, 500])
  func `a history has exactly the maximum of messages, even if more are stored`(count: Int) async throws {
    try await append(count)
    let first = Int64(max(1, count - 9))
    let page = try await test.read { try $0.messages.page(room, after: 0, limit: 600, kept: 10) }
    #expect(page?.first == first)
    #expect(page?.messages.map(\.seq) == Array(first...Int64(count)))
    #expect(page?.more == false)
    let newest = try await test.read { try $0.messages.page(room, before: nil, limit: 600, kept: 10) }
    #expect(newest?.messages.map(\.seq) == page?.messages.map(\.seq))
    #expect(newest?.more == false)
    #expect(try await stored().count < 10 + Int(MessageWriter.trimmedAtOnce))
  }

  @Test func `a lower maximum is reached in steps of limited size`() async throws {
    try await append(1_000, keeping: .everything)
    try await append(1)
    #expect(try await stored().count == 1_001 - 2 * Int(MessageWriter.trimmedAtOnce))
    try await append(7)
    #expect(try await stored().count < 10 + Int(MessageWriter.trimmedAtOnce))
  }

  @Test func `undecided messages are kept`() async throws {
    try await append(300, decided: false)
    #expect(try await stored().count == 300)
    #expect(try await trim(Self.ten) == .init(first: 1, deleted: 0, more: false))
    #expect(try await test.read { try $0.messages.undecided(in: room) }.count == 300)
    try await test.write { try $0.rooms.advanceCursor(room, to: 100) }
    #expect(try await trim(Self.ten) == .init(first: 101, deleted: 100, more: false))
    #expect(try await stored() == Array(101...300))
    #expect(try await trim(Retention(count: 10, age: .zero)) == .init(first: 101, deleted: 0, more: false))
  }

  @Test func `a push keeps its message when the history is trimmed`() async throws {
    try await append(1, jobs: [job()])
    try await append(499)
    #expect(try await stored().first == 1)
    let page = try await test.read { try $0.messages.page(room, after: 0, limit: 600, kept: 10) }
    #expect(page?.first == 491)
    #expect(try await !aging().hasLeftovers)
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(10)) }
    #expect(claims.map(\.shown?.message.seq) == [1])
    _ = try await trim(Self.ten)
    #expect(try await stored().first == 1)

    try await test.write { _ = try $0.queue.finish(claims[0].id, state: .sent, now: .at(1)) }
    #expect(try await aging().hasLeftovers)
    _ = try await trim(Self.ten)
    #expect(try await stored() == Array(491...500))
    #expect(try await !aging().hasLeftovers)
  }

  @Test func `messages end exactly at the maximum age`() async throws {
    try await test.write { transaction in
      for time in [-5_001, -5_000, -4_999, 0] {
        _ = try transaction.messages.append(draft(at: .at(Int64(time)), cursorFollows: true))
      }
    }
    let retention = Retention(count: 10, age: .seconds(5))
    #expect(try await aging().isDue(retention, now: .at(0)))
    #expect(try await trim(retention) == .init(first: 2, deleted: 1, more: false))
    #expect(try await !aging().isDue(retention, now: .at(0)))
    #expect(try await aging().isDue(retention, now: .at(1)))
    #expect(try await stored() == [2, 3, 4])
  }

  @Test(arguments: [(0, 5), (1, 4), (2, 3), (5, 0), (9, 0)])
  func `age alone deletes none of the newest messages`(minimum: Int, deleted: Int) async throws {
    try await test.write { transaction in
      for _ in 1...5 { _ = try transaction.messages.append(draft(at: .at(-9_000), cursorFollows: true)) }
    }
    let retention = Retention(count: 10, age: .seconds(5), minimum: minimum)
    #expect(try await aging().isDue(retention, now: .at(0)) == (deleted > 0))
    #expect(try await trim(retention)?.deleted == deleted)
    #expect(try await !aging().isDue(retention, now: .at(0)))
    // The maximum count still applies.
    #expect(try await trim(Retention(count: 0, age: .seconds(5), minimum: minimum))?.first == 6)
  }

  @Test func `the next message has the next seq after all messages were deleted`() async throws {
    try await append(5)
    #expect(try await trim(Retention(count: 0)) == .init(first: 6, deleted: 5, more: false))
    let page = try await test.read { try $0.messages.page(room, after: 0, limit: 9) }
    #expect(page?.first == 6)
    #expect(page?.newest == 5)
    try await append(1)
    #expect(try await stored() == [6])
  }

  @Test func `a trim deletes at most the given number, and reports when more remain`() async throws {
    try await append(250, keeping: .everything)
    var steps: [Int] = []
    while let trimmed = try await trim(Self.ten, max: 100) {
      steps.append(trimmed.deleted)
      if !trimmed.more { break }
    }
    #expect(steps == [100, 100, 40])
    #expect(try await stored() == Array(241...250))
  }

  @Test func `old messages are deleted in steps of limited size, too`() async throws {
    let retention = Retention(count: 1_000, age: .seconds(1))
    let folder = temporaryPath()
    let later = try Store(folder: folder, clock: StoreClock(now: { .at(5_000) })) {
      for completion in $0 { completion() }
    }
    defer {
      later.close()
      try? FileManager.default.removeItem(atPath: folder)
    }
    try await later.write { transaction in
      try transaction.prepareRoom()
      for _ in 0..<250 { _ = try transaction.messages.append(draft(cursorFollows: true)) }
    }
    var steps: [Int] = []
    while let trimmed = try await later.write({ try $0.messages.trim(room, to: retention, maxDeleted: 100) }) {
      steps.append(trimmed.deleted)
      if !trimmed.more { break }
    }
    #expect(steps == [100, 100, 50])
  }

  @Test func `a transaction that is undone trims nothing`() async throws {
    try await append(73)
    struct Undone: Error {}
    await #expect(throws: StoreError.self) {
      try await test.write { transaction in
        var message = draft(cursorFollows: true)
        message.retention = Self.ten
        _ = try transaction.messages.append(message)
        throw Undone()
      }
    }
    #expect(try await stored() == Array(1...73))
    try await append(1)
    #expect(try await stored() == Array(65...74))
  }

  @Test func `a room without members and messages is found and deleted`() async throws {
    let (left, written) = (RoomID(unchecked: "left"), RoomID(unchecked: "written"))
    try await test.write { transaction in
      for name in [left, written] { try transaction.rooms.create(name, epoch: "e") }
      _ = try transaction.messages.append(draft(in: written))
    }
    let unused = try await test.read { try $0.rooms.aging(after: 0, limit: 9) }.rooms.filter(\.isUnused).map(\.room)
    #expect(unused == [left])
    let deleted = try await test.write { transaction in
      try [room, left, written, left].map { try transaction.rooms.forgetIfUnused($0) }
    }
    #expect(deleted == [false, true, false, false])
    let rest = try await test.read { try $0.rooms.aging(after: 0, limit: 9) }.rooms.map(\.room)
    #expect(rest == [room, written])
  }

  @Test func `the pages contain all rooms`() async throws {
    try await test.write { transaction in
      for number in 1...6 { try transaction.rooms.create(RoomID(unchecked: "room\(number)"), epoch: "e") }
    }
    var names: [String] = []
    var position: Int64? = 0
    while let after = position {
      let page = try await test.read { try $0.rooms.aging(after: after, limit: 3) }
      names += page.rooms.map(\.room.rawValue)
      position = page.next
    }
    #expect(names == ["room", "room1", "room2", "room3", "room4", "room5", "room6"])
    #expect(try await trim(.everything) == .init(first: 1, deleted: 0, more: false))
    #expect(
      try await test.write { try $0.messages.trim(RoomID(unchecked: "none"), to: .everything, maxDeleted: 1) } == nil)
  }
}
