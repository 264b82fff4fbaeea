// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests
@testable import RelayState

/// The requests for the presence of many users, without a transport.
@Suite struct PresenceTests {
  private static let backend = Caller.backend(acting: nil)

  private func users(_ count: Int) -> [String: JSON] {
    ["users": .array((0..<count).map { .string("user\($0)") })]
  }

  private func presence(_ test: TestRelay, _ count: Int) async throws -> [JSON] {
    let reply = try await test.perform(QueryPresence.self, by: Self.backend, users(count))
    guard case .array(let entries) = reply.body?["presence"] else { return [] }
    return entries
  }

  @Test func `a backend requests at most 1,000 users, and a user at most 256`() throws {
    let ann = Identity(
      user: User(id: UserID(unchecked: "ann")), permissions: Permissions(grants: nil, watch: [], account: .all),
      expires: nil)
    func request(_ caller: Caller, _ count: Int) throws {
      _ = try QueryPresence(
        Request(Fields(users(count)), by: caller, RelaySettings(.open)))
    }
    try request(Self.backend, 1_000)
    try request(.user(ann), 256)
    #expect(throws: RequestError.self) { try request(Self.backend, 1_001) }
    #expect(throws: RequestError.self) { try request(.user(ann), 257) }
  }

  @Test func `many users are answered in the order of the request, as for single requests`() async throws {
    try await TestRelay.run { test async throws in
      let focus: [String: JSON] = ["user": .string("me"), "device": .string("phone"), "isFocused": .bool(true)]
      _ = try await test.perform(SetFocus.self, as: "user700", focus)
      let entries = try await presence(test, 1_000)
      #expect(entries.map { $0["user"]?.text } == (0..<1_000).map { "user\($0)" })
      for user in [0, 700] {
        let single = try await test.perform(
          GetPresence.self, by: Self.backend, ["user": .string("user\(user)")])
        #expect(entries[user] == single.body)
      }
      #expect(entries[700]["isFocused"] == .bool(true))
      #expect(entries[0]["isFocused"] == .null)
    }
  }

  @Test func `the hub's thread serves others while it reads many users`() async throws {
    try await TestRelay.run { test async throws in
      let turns = Task { [relay = test.core] in
        var turns = 0
        while !Task.isCancelled {
          _ = await relay.stage
          turns += 1
        }
        return turns
      }
      _ = try await presence(test, 1_000)
      turns.cancel()
      #expect(await turns.value > 10)
    }
  }
}
