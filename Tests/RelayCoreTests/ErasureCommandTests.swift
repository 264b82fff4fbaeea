// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCore

/// Requests while the erasure of a user is in progress.
@Suite struct ErasureCommandTests {
  private static let (ann, bob) = (JSON.string("ann"), JSON.string("bob"))
  private static let backend = Caller.backend(acting: nil)

  /// A room with Ann and Bob, and an erasure of Ann. A trigger of the database stops the erasure after its begin.
  private func stuck(_ body: (TestRelay) async throws -> Void) async throws {
    try await TestRelay.run { test async throws in
      for user in [Self.ann, Self.bob] {
        _ = try await test.perform(AddMember.self, by: Self.backend, ["room": .string("tea"), "user": user])
      }
      try await test.execute(
        "CREATE TRIGGER stuck BEFORE UPDATE ON erasures BEGIN SELECT RAISE(ABORT, 'planted'); END")
      let begun = try await test.perform(
        EraseUser.self, by: Self.backend, ["user": Self.ann, "messages": .string("delete")])
      #expect(begun.status == 202)
      try await body(test)
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
    try await stuck { test in
      let body = JSON.raw(Array("1".utf8))
      for (command, members) in [
        (AddMember.self, ["room": .string("tea"), "user": Self.ann]),
        (RemoveMember.self, ["room": .string("tea"), "user": Self.ann]),
        (SetProfile.self, ["user": Self.ann, "name": .string("Ann")]),
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
    try await stuck { test in
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

  @Test func `the checked members are those of scopes, without the one that only selects`() {
    #expect(Set(NamedMembers.users).subtracting(NamedMembers.changedUsers) == ["users"])
  }
}
