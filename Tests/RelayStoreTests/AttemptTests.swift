// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayStore

/// The log of a push job: the attempts and the services' answers.
@Suite struct AttemptTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func attempt(_ number: Int) -> PushAttempt {
    PushAttempt(time: .at(Int64(number)), status: 500 + number, reason: "Reason \(number)", words: "\"\\ words")
  }

  private func claimed() async throws -> String {
    let claims = try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft(jobs: [job()]))
      return try transaction.queue.claim(limit: 1, now: .at(0), leaseUntil: .at(60))
    }
    return try #require(claims.first).id
  }

  private func log(of id: String) async throws -> [PushAttempt]? {
    try await test.read { try $0.queue.job(id)?.attemptLog }
  }

  @Test func `the log keeps attempts in their order, even after the job has ended`() async throws {
    let id = try await claimed()
    #expect(try await log(of: id) == [])
    let attempts = (1...3).map(attempt)
    try await test.write { transaction in
      try transaction.queue.note([attempts[0], attempts[1]], of: id)
      try transaction.queue.finish(id, state: .dead, note: "Reason 2", now: .at(9))
      try transaction.queue.note([attempts[2]], of: id)
    }
    #expect(try await log(of: id) == attempts)
  }

  @Test func `the log keeps only the newest attempts`() async throws {
    let id = try await claimed()
    let attempts = (1...50).map(attempt)
    try await test.write { transaction in
      try transaction.queue.note(Array(attempts[..<15]), of: id)
      try transaction.queue.note(Array(attempts[15..<18]), of: id)
      try transaction.queue.note(Array(attempts[18...]), of: id)
    }
    #expect(try await log(of: id) == attempts.suffix(JobRecord.maxAttempts))
  }

  @Test func `attempts of a deleted job are ignored`() async throws {
    let id = try await claimed()
    let attempt = attempt(1)
    try await test.write { try $0.queue.note([attempt], of: "another") }
    #expect(try await log(of: id) == [])
  }
}
