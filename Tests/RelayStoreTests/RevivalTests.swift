// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Dead letters that are sent again.
@Suite struct RevivalTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Makes a job that was claimed once and has ended. Returns its id.
  private func end(_ state: FinishedState, expires: Timestamp? = nil) async throws -> String {
    try await test.write { transaction in
      try transaction.prepareRoom()
      var draft = job()
      draft.explanation.facts.message.expires = expires ?? .never
      let id = try transaction.messages.append(RelayStoreTests.draft(jobs: [draft])).jobs[0]
      _ = try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60))
      try transaction.queue.note([PushAttempt(time: .at(0), status: 400)], of: id)
      try transaction.queue.finish(id, state: state, note: "why", now: .at(0))
      return id
    }
  }

  private func revive(_ id: String) async throws -> Revival? {
    try await test.write { try $0.queue.revive(id)?.revival }
  }

  @Test func `a revived dead letter is decided again, and then sent`() async throws {
    let id = try await end(.dead)
    #expect(try await revive(id) == .begun)
    let held = try #require(try await test.read { try $0.queue.job(id) })
    #expect((held.state, held.due, held.attempts, held.note) == (.held, .at(0), 0, nil))
    #expect((held.finishedAt, held.revived, held.attemptLog.count) == (nil, .at(0), 1))
    #expect(try await test.read { try $0.queue.heldUsers(dueBy: .at(0), limit: 9) } == [bob.id])
    #expect(try await test.read { try $0.queue.openJobs(of: bob.id).jobs.map(\.id) } == [id])
    let claims = try await test.write { transaction in
      #expect(try transaction.queue.decide(id, .push(.active)))
      return try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60))
    }
    #expect(claims.map(\.id) == [id])
    #expect(claims.first?.attempts == 1)
  }

  @Test func `a second request has no effect, even after the push was sent`() async throws {
    let id = try await end(.dead)
    #expect(try await revive(id) == .begun)
    #expect(try await revive(id) == .known)
    try await test.write { transaction in
      try transaction.queue.decide(id, .push(.active))
      _ = try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60))
      try transaction.queue.finish(id, state: .sent, now: .at(1))
    }
    #expect(try await revive(id) == .known)
    #expect(try await test.read { try $0.queue.job(id)?.state } == .sent)
  }

  @Test func `a push that is dead again can be sent again`() async throws {
    let id = try await end(.dead)
    _ = try await revive(id)
    try await test.write { _ = try $0.queue.finish(id, state: .dead, now: .at(1)) }
    #expect(try await revive(id) == .begun)
  }

  @Test(arguments: [FinishedState.sent, .cancelled, .expired])
  func `a push that is not a dead letter stays unchanged`(state: FinishedState) async throws {
    let id = try await end(state)
    #expect(try await revive(id) == .refused(.notDead))
    #expect(try await test.read { try $0.queue.job(id)?.state.rawValue } == state.rawValue)
  }

  @Test(arguments: [(Int64(-1), Revival.refused(.expired)), (0, .refused(.expired)), (1, .begun)])
  func `an expired dead letter is refused`(milliseconds: Int64, revival: Revival) async throws {
    #expect(try await revive(end(.dead, expires: .at(milliseconds))) == revival)
  }

  @Test func `a dead letter without its device or message is refused`() async throws {
    let id = try await end(.dead)
    try await test.write { try $0.devices.forget(phone().id, of: bob.id) }
    #expect(try await revive(id) == .refused(.noDevice))
    try await test.write { transaction in
      try transaction.devices.register(phone(), of: bob.id, now: .at(0))
      try transaction.db.run("DELETE FROM messages")
    }
    #expect(try await revive(id) == .refused(.noMessage))
    #expect(try await revive("none") == nil)
  }

  @Test func `a digest is revived with its merged jobs`() async throws {
    let ids = try await test.write { transaction in
      try transaction.prepareRoom()
      var held = job()
      held.isHeld = true
      held.due = .at(99)
      for _ in 0..<2 { _ = try transaction.messages.append(draft(jobs: [held])) }
      let ids = try transaction.reader.queue.jobs(limit: 9).reversed().map(\.id)
      try transaction.queue.decide(ids[0], .merge(into: ids[1]))
      try transaction.queue.decide(ids[1], .push(.active))
      _ = try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60))
      try transaction.queue.finish(ids[1], state: .dead, now: .at(0))
      return ids
    }
    #expect(try await revive(ids[0]) == .refused(.notDead))
    #expect(try await revive(ids[1]) == .begun)
    let claims = try await test.write { transaction in
      try transaction.queue.decide(ids[1], .push(.active))
      return try transaction.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(60))
    }
    #expect(claims.map(\.shown?.count) == [2])
  }
}
