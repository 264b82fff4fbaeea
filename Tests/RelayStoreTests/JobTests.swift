// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Push jobs: creation, cancellation, ends, and purges.
@Suite struct JobTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Makes a room with `count` messages, each with a job for Bob's phone. Returns the ids of the jobs.
  private func fill(_ count: Int, due: Timestamp = .at(0)) async throws -> [String] {
    try await test.write { transaction in
      try transaction.prepareRoom()
      return try (0..<count).flatMap { _ in try transaction.messages.append(draft(jobs: [job(due: due)])).jobs }
    }
  }

  private func states() async throws -> [JobState] {
    try await test.read { try $0.queue.jobs(limit: 99).reversed().map(\.state) }
  }

  @Test func `a job is stored with its message`() async throws {
    let ids = try await fill(1, due: .at(5))
    let jobs = try await test.read { try $0.queue.jobs(of: bob.id, limit: 9) }
    #expect(
      jobs == [
        JobRecord(
          id: ids[0], room: room, seq: 1, user: bob.id, device: phone().id, platform: .simulator, token: "token",
          state: .waiting, due: .at(5), lease: nil, attempts: 0, created: .at(0), reasons: ["nothing_against"],
          finishedAt: nil, note: nil, explanation: Array(StoredJSON.text(of: job(due: .at(5)).explanation).utf8))
      ])
    #expect(ids[0].wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil)
    #expect(try await test.read { try $0.queue.jobs(of: alice.id, limit: 9) } == [])
  }

  @Test func `a message has one job for each device, even after the job has ended`() async throws {
    let ids = try await fill(1)
    #expect(try await test.write { try $0.queue.insert([job(), job()], room: room, seq: 1) } == [])
    try await test.write { try $0.queue.finish(ids[0], state: .sent, now: .at(1)) }
    #expect(try await test.write { try $0.queue.insert([job(), job()], room: room, seq: 1) } == [])
    #expect(try await test.read { try $0.queue.jobCounts() } == [.sent: 1])
  }

  @Test func `a job for a deleted device is cancelled at once`() async throws {
    try await test.write { try $0.prepareRoom() }
    let appended = try await test.write { try $0.messages.append(draft(jobs: [job(phone("lost"))])) }
    #expect(appended.jobs == [])
    let stored = try #require(try await test.read { try $0.queue.jobs(limit: 9).first })
    #expect(stored.state == .cancelled)
    #expect(stored.note == "no device")
    #expect(stored.finishedAt == .at(0))
  }

  @Test func `jobs of a room that does not exist are refused`() async throws {
    await #expect(throws: StoreError.noRoom(room)) {
      try await test.write { try $0.queue.insert([job()], room: room, seq: 1) }
    }
  }

  @Test func `a cancellation ends the jobs up to a seq, except those being sent`() async throws {
    let ids = try await fill(5)
    let claimed = try await test.write { try $0.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60)) }
    #expect(claimed.map(\.id) == [ids[0]])
    #expect(try await test.write { try $0.queue.cancel(room, bob.id, upTo: 3, reason: "read") } == 2)
    #expect(try await states() == [.sending, .cancelled, .cancelled, .ready, .ready])
    #expect(try await test.read { try $0.queue.jobs(limit: 9)[3].note } == "read")
    // Jobs of other users and rooms stay.
    #expect(try await test.write { try $0.queue.cancel(room, alice.id, upTo: 9, reason: "read") } == 0)
    #expect(
      try await test.write { try $0.queue.cancel(RoomID(unchecked: "none"), bob.id, upTo: 9, reason: "read") } == 0)
  }

  @Test(arguments: FinishedState.allCases)
  func `a claimed job ends once, in the given state`(state: FinishedState) async throws {
    let ids = try await fill(1)
    let endings = try await test.write { transaction in
      _ = try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60))
      return try [
        transaction.queue.finish(ids[0], state: state, note: "200", now: .at(4)),
        transaction.queue.finish(ids[0], state: .dead, now: .at(5)), transaction.queue.retry(ids[0], due: .at(6)),
      ]
    }
    #expect(endings == [true, false, false])
    let stored = try #require(try await test.read { try $0.queue.jobs(limit: 9).first })
    #expect(stored.state.rawValue == state.rawValue)
    #expect(stored.note == "200")
    #expect(stored.finishedAt == .at(4))
    #expect(stored.lease == nil)
  }

  @Test func `a push that was sent before its job was cancelled counts as sent`() async throws {
    let ids = try await fill(2)
    let endings = try await test.write { transaction in
      _ = try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60))
      try transaction.devices.forget(phone().id, of: bob.id)
      return try ids.map { try transaction.queue.finish($0, state: .sent, now: .at(4)) }
    }
    // The second job was never claimed.
    #expect(endings == [true, false])
    #expect(try await states() == [.sent, .cancelled])
  }

  @Test func `a purge deletes only finished jobs`() async throws {
    let ids = try await fill(4)
    try await test.write { transaction in
      for (index, id) in ids.prefix(3).enumerated() {
        try transaction.queue.finish(id, state: .expired, now: .at(Int64(index)))
      }
    }
    #expect(try await test.write { try $0.queue.purge(finishedBefore: .at(2)) } == 2)
    #expect(try await states() == [.expired, .ready])
  }

  @Test func `a purge has a maximum of rows`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for _ in 0...Transaction.maxPurged { _ = try transaction.messages.append(draft(jobs: [job(phone("lost"))])) }
    }
    #expect(try await test.write { try $0.queue.purge(finishedBefore: .at(1)) } == Transaction.maxPurged)
    #expect(try await test.write { try $0.queue.purge(finishedBefore: .at(1)) } == 1)
  }

  @Test func `jobs are listed newest first, up to a limit`() async throws {
    _ = try await fill(5)
    #expect(try await test.read { try $0.queue.jobs(limit: 2).map(\.seq) } == [5, 4])
    #expect(try await test.read { try $0.queue.jobs(of: bob.id, limit: 3).map(\.seq) } == [5, 4, 3])
  }
}
