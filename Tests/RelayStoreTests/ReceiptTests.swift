// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayStore

/// Receipts of pushes, handles, profiles, and the secret of the installation.
@Suite struct ReceiptTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  @Test func `the first receipt of a push counts`() async throws {
    let id = try #require(
      try await test.write { transaction in
        try transaction.prepareRoom()
        return try transaction.messages.append(draft(jobs: [job()])).jobs.first
      })
    let first = try await test.write { try $0.queue.received(id, now: .at(5)) }
    let second = try await test.write { try $0.queue.received(id, now: .at(9)) }
    #expect((first?.time, first?.isFirst, first?.user) == (.at(5), true, bob.id))
    #expect((second?.time, second?.isFirst) == (.at(5), false))
    #expect(try await test.read { try $0.queue.job(id)?.received } == .at(5))
    #expect(try await test.write { try $0.queue.received("another", now: .at(5)) } == nil)
  }

  @Test func `a claim has the handle of the sender`() async throws {
    let carol = User(id: UserID(unchecked: "carol"), handle: "+4930", handleType: "phoneNumber")
    try await test.write { transaction in
      // The user is not a member of any room yet.
      try transaction.people.rename(carol)
      try transaction.prepareRoom()
      _ = try transaction.rooms.join(User(id: carol.id, name: "Carol"), room: room, epoch: "epoch", now: TestStore.time)
      _ = try transaction.messages.append(draft(from: User(id: carol.id), jobs: [job()]))
    }
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) }
    #expect(
      claims.map(\.shown?.sender) == [User(id: carol.id, name: "Carol", handle: "+4930", handleType: "phoneNumber")])
  }

  @Test func `each field of a profile can change alone`() async throws {
    let carol = UserID(unchecked: "carol")
    let hash = String(repeating: "0f", count: 32)
    let all = User(
      id: carol, name: "Carol", avatar: "https://a.example/1", handle: "+4930", handleType: "phoneNumber",
      avatarSHA256: hash)
    #expect(try await test.write { try $0.people.changeProfile(of: carol) { $0 = all } } == all)
    // A picture that a client repeats keeps its hash. Another picture has none.
    try await test.write { try $0.people.rename(User(id: carol, avatar: all.avatar)) }
    #expect(try await test.write { try $0.people.changeProfile(of: carol) { _ in } } == all)
    try await test.write { try $0.people.rename(User(id: carol, avatar: "https://a.example/2")) }
    let changed = try await test.write { try $0.people.changeProfile(of: carol) { $0.handle = nil } }
    #expect((changed.avatar, changed.avatarSHA256) == ("https://a.example/2", nil))
    #expect((changed.name, changed.handle, changed.handleType) == ("Carol", nil, "phoneNumber"))
    #expect(try await test.read { try $0.people.user(carol)?.user.name } == "Carol")
  }

  @Test func `a claim has the hash of the sender's picture`() async throws {
    let hash = String(repeating: "0f", count: 32)
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.people.changeProfile(of: alice.id) {
        $0.avatarSHA256 = hash
      }
      _ = try transaction.messages.append(draft(jobs: [job()]))
    }
    let claims = try await test.write { try $0.queue.claim(limit: 9, now: .at(0), leaseUntil: .at(9)) }
    #expect(claims.map(\.shown?.sender.avatarSHA256) == [hash])
  }

  @Test func `a user with a connection, a device or a room is a person`() async throws {
    let shop = User(id: UserID(unchecked: "shop"), name: "Shop")
    _ = try await test.write { try $0.people.changeProfile(of: shop.id) { $0.name = "Shop" } }
    #expect(try await !test.read { try $0.people.isPerson(shop.id) })
    #expect(try await !test.read { try $0.people.isPerson(UserID(unchecked: "nobody")) })
    try await test.write { try $0.people.touch(shop.id, lastSeen: .at(0)) }
    #expect(try await test.read { try $0.people.isPerson(shop.id) })
    try await test.write { try $0.prepareRoom() }
    #expect(try await test.read { try $0.people.isPerson(alice.id) })
    let owner = UserID(unchecked: "owner")
    _ = try await test.write { try $0.devices.register(phone("p", token: "t"), of: owner, now: .at(0)) }
    #expect(try await test.read { try $0.people.isPerson(owner) })
  }

  @Test func `an installation keeps its secret, and another one has a different secret`() throws {
    let folder = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let secrets = try (0..<2).map { _ in
      let store = try Store(folder: folder, clock: StoreClock(now: { .at(0) })) {
        for completion in $0 { completion() }
      }
      defer { store.close() }
      return store.secret
    }
    #expect(secrets[0] == secrets[1])
    #expect(secrets[0].count == 32)
    #expect(secrets[0] != test.store.secret)
  }
}
