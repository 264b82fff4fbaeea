// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

@testable import RelayStore

/// Lists of jobs by user and state, in pages.
@Suite struct JobListTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Makes a job of each finished state, and two that wait.
  private func fill() async throws -> [String] {
    try await test.write { transaction in
      try transaction.prepareRoom()
      let ids = try (0..<6).flatMap { _ in try transaction.messages.append(draft(jobs: [job(due: .at(5))])).jobs }
      for (id, state) in zip(ids, FinishedState.allCases) {
        try transaction.queue.finish(id, state: state, now: .at(1))
      }
      return ids
    }
  }

  private func list(
    of user: UserID? = nil, in state: JobState? = nil, after id: String? = nil, limit: Int = 9
  ) async throws -> [String] {
    try await test.read { reader in
      try reader.queue.jobs(of: user, in: state, after: id.flatMap(reader.queue.position(of:)), limit: limit).map(\.id)
    }
  }

  @Test(arguments: [nil, bob.id]) func `the list of a state begins with the newest job`(user: UserID?) async throws {
    let ids = try await fill()
    for (id, state) in zip(ids, [JobState.sent, .cancelled, .expired, .dead]) {
      #expect(try await list(of: user, in: state) == [id])
    }
    #expect(try await list(of: user, in: .waiting) == [ids[5], ids[4]])
    for state in [JobState.held, .merged, .ready, .sending, .retrying] {
      #expect(try await list(of: user, in: state) == [])
    }
    #expect(try await list(of: user) == ids.reversed())
    #expect(try await list(of: alice.id) == [])
  }

  @Test func `held, merged and claimed jobs are listed`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      var held = job()
      held.isHeld = true
      held.due = .at(99)
      for draft in [draft(jobs: [held]), draft(jobs: [held]), draft(jobs: [job()])] {
        _ = try transaction.messages.append(draft)
      }
      let ids = try transaction.reader.queue.jobs(limit: 9).reversed().map(\.id)
      #expect(try transaction.queue.decide(ids[0], .merge(into: ids[1])))
      #expect(try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(9)).map(\.id) == [ids[2]])
    }
    let ids = Array(try await list().reversed())
    for (id, state) in zip(ids, [JobState.merged, .held, .sending]) { #expect(try await list(in: state) == [id]) }
  }

  @Test func `each page continues after the last one`() async throws {
    let ids = try await fill()
    let first = try await list(limit: 4)
    #expect(try await first + list(after: first.last, limit: 4) == ids.reversed())
    #expect(try await list(in: .waiting, after: ids[5]) == [ids[4]])
    #expect(try await list(of: bob.id, after: ids[0]) == [])
    #expect(try await test.read { try $0.queue.position(of: "none") == nil })
  }
}
