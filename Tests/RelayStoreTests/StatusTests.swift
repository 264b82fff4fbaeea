// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// The status of users.
@Suite struct StatusTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  @Test func `a status is read with the user and with the member, until it is deleted`() async throws {
    let status = UserStatus(text: "On \"holiday\"", emoji: "🌴", until: .at(5))
    try await test.write { transaction in
      try transaction.prepareRoom()
      try transaction.people.save(status, of: bob.id)
    }
    #expect(try await test.read { try $0.people.user(bob.id)?.status } == status)
    #expect(try await test.read { try $0.people.user(alice.id)?.status } == nil)
    let members = try await test.read { try $0.rooms.snapshot(room)?.members }
    #expect(members?.first { $0.user.id == bob.id }?.record.status == status)
    try await test.write { try $0.people.save(UserStatus?.none, of: bob.id) }
    #expect(try await test.read { try $0.people.user(bob.id)?.status } == nil)
  }

  @Test func `the error for a damaged status does not contain it`() async throws {
    try await test.write { transaction in
      try transaction.people.save(UserStatus(text: "x"), of: bob.id)
      try transaction.db.execute(sql: "UPDATE users SET status = '{\"text\":1}'")
    }
    await #expect(throws: StoreError.invalidRow(reason: "the stored JSON of a user's status cannot be read")) {
      _ = try await test.read { try $0.people.user(bob.id) }
    }
  }
}
