// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayIdentity
@testable import RelayRequests
@testable import RelayState

/// The retry of many dead letters.
@Suite struct RetryCommandTests {
  @Test(
    arguments: [
      ([], []), ([1], [[1]]), ([256], [[256]]), ([300, 1], [[300], [1]]), ([1, 300, 1], [[1], [300], [1]]),
      ([200, 56, 1, 255, 1], [[200, 56], [1, 255], [1]]),
    ] as [([Int], [[Int]])])
  func `a transaction has few rows`(rows: [Int], slices: [[Int]]) {
    let letters = rows.enumerated().map { DeadLetter(id: "\($0.offset)", rows: $0.element) }
    let found = DeadLetter.slices(letters)
    #expect(found.map { $0.map(\.rows) } == slices)
    #expect(found.flatMap(\.self) == letters)
  }

  @Test func `the audit log has an entry for each push that is retried`() async throws {
    try await TestRelay.run { test async throws in
      let ids = try await deadLetters(3, test)
      let key = Caller.backend(acting: nil, key: BackendKey(name: "operator"))
      try await test.execute("UPDATE jobs SET expires = 1 WHERE id = '\(ids[1])'")
      let reply = try await test.perform(RetryPushes.self, by: key, ["limit": .number("3")])
      guard case .array(let pushes)? = reply.body?["pushes"] else {
        Issue.record("no list")
        return
      }
      #expect(pushes.map { $0["retried"] } == [.bool(true), .bool(false), .bool(true)])
      let page = try await test.perform(ListAuditEntries.self, by: .backend(acting: nil))
      guard case .array(let entries)? = page.body?["entries"] else {
        Issue.record("no entries")
        return
      }
      let targets = entries.filter { $0["operation"] == .string("retryPush") }.compactMap { $0["target"] }
      #expect(Set(targets.map { "\($0)" }) == Set([ids[0], ids[2]].map { "\(JSON.string($0))" }))
      #expect(entries.first?["operation"] == .string("retryPushes"))
      #expect(entries.count == 3 && entries.allSatisfy { $0["key"] == .string("operator") })
    }
  }

  /// Makes dead letters. Returns their ids, the newest first.
  private func deadLetters(_ count: Int, _ test: TestRelay) async throws -> [String] {
    let names: [String: JSON] = ["room": .string("tea"), "user": .string("bob")]
    _ = try await test.perform(AddMember.self, by: .backend(acting: nil), names)
    _ = try await test.perform(
      AddMember.self, by: .backend(acting: nil), names.merging(["user": .string("ann")]) { $1 })
    let device: [String: JSON] = [
      "user": .string("bob"), "device": .string("phone"), "platform": .string("simulator"), "token": .string("t"),
    ]
    _ = try await test.perform(RegisterDevice.self, by: .backend(acting: nil), device)
    for _ in 0..<count {
      let message: [String: JSON] = ["room": .string("tea"), "from": .string("ann"), "body": .raw(Array("1".utf8))]
      _ = try await test.perform(PostMessage.self, by: .backend(acting: nil), message)
    }
    while try await test.core.store.read({ try $0.queue.jobs(limit: 9).count }) < count { await Task.yield() }
    try await test.execute("UPDATE jobs SET state = 'dead', finished_at = 1, note = 'why'")
    return try await test.core.store.read { try $0.queue.jobs(limit: 9).map(\.id) }
  }
}
