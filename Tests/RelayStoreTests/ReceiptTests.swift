// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayStore

@Suite struct ReceiptTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  @Test func `what a device said first of a push counts`() async throws {
    let id = try #require(
      try await test.write { transaction in
        try transaction.prepareRoom()
        return try transaction.append(draft(jobs: [job()])).jobs.first
      })
    let first = try await test.write { try $0.received(id, now: .at(5)) }
    let second = try await test.write { try $0.received(id, now: .at(9)) }
    #expect((first?.time, first?.isNews, first?.user) == (.at(5), true, bob.id))
    #expect((second?.time, second?.isNews) == (.at(5), false))
    #expect(try await test.read { try $0.job(id)?.received } == .at(5))
    #expect(try await test.write { try $0.received("another", now: .at(5)) } == nil)
  }

  @Test func `a handle is told to phones`() async throws {
    let carol = User(id: UserID(unchecked: "carol"), handle: "+4930", handleType: "phoneNumber")
    try await test.write { transaction in
      // Before they are a member of anything.
      try transaction.rename(carol)
      try transaction.prepareRoom()
      _ = try transaction.join(User(id: carol.id, name: "Carol"), room: room, epoch: "epoch", now: TestStore.time)
      _ = try transaction.append(draft(from: User(id: carol.id), jobs: [job()]))
    }
    let claims = try await test.write { try $0.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) }
    #expect(
      claims.map(\.sender) == [User(id: carol.id, name: "Carol", handle: "+4930", handleType: "phoneNumber")])
  }

  @Test func `an installation keeps its secret, and no other has it`() throws {
    let folder = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let secrets = try (0..<2).map { _ in
      let store = try Store(folder: folder, now: { .at(0) }) { for completion in $0 { completion() } }
      defer { store.close() }
      return store.secret
    }
    #expect(secrets[0] == secrets[1])
    #expect(secrets[0].count == 32)
    #expect(secrets[0] != test.store.secret)
  }
}
