// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayRequests
@testable import RelayState

/// Requests while the erasure of a user is in progress, and the state of an erasure that fails.
@Suite struct ErasureCommandTests {
  private static let (ann, bob) = (JSON.string("ann"), JSON.string("bob"))
  private static let backend = Caller.backend(acting: nil)

  /// A room with Ann and Bob, and an erasure of Ann, whose id the body gets. A trigger of the database stops the
  /// erasure after its begin.
  private func stuck(_ body: (TestRelay, String) async throws -> Void) async throws {
    try await TestRelay.run { test async throws in
      for user in [Self.ann, Self.bob] {
        _ = try await test.perform(AddMember.self, by: Self.backend, ["room": .string("tea"), "user": user])
      }
      try await test.execute(
        """
        CREATE TRIGGER stuck BEFORE UPDATE ON erasures WHEN OLD.name = 'ann' BEGIN SELECT RAISE(ABORT, 'planted'); END
        """)
      try await body(test, try await erase(Self.ann, test))
    }
  }

  /// Begins an erasure, and returns its id.
  private func erase(_ user: JSON, _ test: TestRelay) async throws -> String {
    let begun = try await test.perform(
      EraseUser.self, by: Self.backend, ["user": user, "messages": .string("delete")])
    guard begun.status == 202, case .string(let id)? = begun.body?["erasure"] else { throw StoreError.closed }
    return id
  }

  /// Waits for a state of an erasure.
  private func state(
    of id: String, _ test: TestRelay, _ isExpected: (JSON) -> Bool
  ) async throws -> JSON {
    while true {
      let state = try await test.perform(GetErasure.self, by: Self.backend, ["id": .string(id)]).body
      if let state, isExpected(state) { return state }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test func `an erasure that fails is tried again, and shows its last failure until then`() async throws {
    try await stuck { test, id in
      let failing = try await state(of: id, test) { $0["failure"] != nil }
      #expect(failing["state"] == .string("running") && failing["failure"]?["cause"] == .string("internal"))
      // It delays no other erasure.
      _ = try await state(of: try await erase(Self.bob, test), test) { $0["state"] == .string("done") }
      #expect(try await erase(Self.ann, test) == id)
      let again = try await state(of: id, test) { $0["failure"]?["attempts"] != .number("1") }
      #expect(again["state"] == .string("running") && again["failure"]?["attempts"] != nil)
      try await test.execute("DROP TRIGGER stuck")
      let done = try await state(of: id, test) { $0["state"] == .string("done") }
      #expect(done["failure"] == nil && done["leftRooms"] == .number("1"))
      #expect(await test.core.failures.count == 0)
    }
  }

  private func refusal(_ body: () async throws -> Void) async -> RequestError? {
    do {
      try await body()
      return nil
    } catch {
      return RequestError(known: error)
    }
  }

  @Test func `a request that changes something of the user is unavailable`() async throws {
    try await stuck { test, _ in
      let body = JSON.raw(Array("1".utf8))
      for (command, members) in [
        (AddMember.self, ["room": .string("tea"), "user": Self.ann]),
        (RemoveMember.self, ["room": .string("tea"), "user": Self.ann]),
        (Disconnect.self, ["user": Self.ann]),
        (PostMessage.self, ["room": .string("tea"), "from": Self.ann, "body": body]),
        (CreateRoom.self, ["owner": Self.ann]),
        (CreateRoom.self, ["owner": Self.bob, "members": .array([.string("eve"), Self.ann])]),
        (OpenDirectRoom.self, ["user": Self.bob, "other": Self.ann]),
        (Block.self, ["user": Self.bob, "other": Self.ann]),
      ] as [(any Command.Type, [String: JSON])] {
        let error = await refusal { _ = try await test.perform(command, by: Self.backend, members) }
        #expect(error?.code == .unavailable && error?.message == RequestError.beingErased.message, "\(command)")
      }
      // A caller who acts for the user gets nothing.
      let own = await refusal { _ = try await test.perform(ListRooms.self, as: "ann", ["user": Self.ann]) }
      #expect(own?.code == .unavailable)
    }
  }

  @Test func `a request that reads, or only selects users, is not unavailable`() async throws {
    try await stuck { test, _ in
      let message: [String: JSON] = ["room": .string("tea"), "from": Self.bob, "body": .raw(Array("1".utf8))]
      _ = try await test.perform(PostMessage.self, by: Self.backend, message)
      for (command, members) in [
        (QueryPresence.self, ["users": .array([Self.ann, Self.bob])]), (GetPresence.self, ["user": Self.ann]),
        (GetAccess.self, ["user": Self.ann]), (ExportUser.self, ["user": Self.ann]),
        (ExplainDecision.self, ["room": .string("tea"), "from": Self.bob, "user": Self.ann]),
        (
          NotifyAnyway.self,
          ["room": .string("tea"), "seq": .number("1"), "from": Self.bob, "users": .array([Self.ann])]
        ),
      ] as [(any Command.Type, [String: JSON])] {
        let error = await refusal { _ = try await test.perform(command, by: Self.backend, members) }
        #expect(error == nil, "\(command)")
      }
    }
  }

  @Test func `a message does not mention a user who is being erased`() async throws {
    try await stuck { test, _ in
      let message: [String: JSON] = [
        "room": .string("tea"), "from": Self.bob, "body": .raw(Array("1".utf8)),
        "mentions": .array([Self.ann, Self.bob]),
      ]
      _ = try await test.perform(PostMessage.self, by: Self.backend, message)
      let history = try await test.perform(ReadHistory.self, by: Self.backend, ["room": .string("tea")]).body
      guard case .array(let messages)? = history?["messages"] else { throw StoreError.closed }
      #expect(messages.map { $0["mentions"] } == [.array([Self.bob])])
    }
  }

  @Test func `the checked members are those of scopes, without the one that only selects`() {
    #expect(Set(NamedMembers.users).subtracting(NamedMembers.changedUsers) == ["users"])
  }
}

extension Core {
  fileprivate var failures: ErasureFailures { relay.erasures.failures }
}
