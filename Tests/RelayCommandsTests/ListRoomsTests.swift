// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests

/// The command `rooms`, without a transport.
@Suite struct ListRoomsTests {
  private static let ann = UserID(unchecked: "ann")

  /// Ann with a token that gives these rights in the rooms of a pattern.
  private func ann(_ pattern: String, _ rights: Rights) throws -> Caller {
    let grant = Grant(match: try #require(Glob(pattern)), can: rights)
    return .user(
      Identity(
        user: User(id: Self.ann), permissions: Permissions(grants: [grant], watch: [], account: .all), expires: nil))
  }

  private func rooms(_ caller: Caller, _ test: TestRelay) async throws -> [String?] {
    let reply = try await test.perform(ListRooms.self, by: caller, ["user": .string("ann")])
    guard case .array(let entries) = reply.body?["rooms"] else { return [] }
    return entries.map { $0["room"]?.text }
  }

  @Test func `a token lists only the rooms in which it gives the right to join`() async throws {
    try await TestRelay.run { test async throws in
      for room in ["tea", "jam"] {
        let members: [String: JSON] = ["room": .string(room), "user": .string("ann")]
        _ = try await test.perform(AddMember.self, as: "ann", members)
      }
      #expect(try await rooms(.backend(acting: nil), test) == ["jam", "tea"])
      #expect(try await rooms(ann("*", .standard), test) == ["jam", "tea"])
      #expect(try await rooms(ann("te*", .standard), test) == ["tea"])
      #expect(try await rooms(ann("*", .presence), test) == [])
    }
  }

  @Test func `a preview needs the right to the history`() async throws {
    try await TestRelay.run { test async throws in
      let member: [String: JSON] = ["room": .string("tea"), "user": .string("ann")]
      _ = try await test.perform(AddMember.self, as: "ann", member)
      let message: [String: JSON] = ["room": .string("tea"), "body": .raw(Array(#""Kettle is on""#.utf8))]
      _ = try await test.perform(PostMessage.self, as: "ann", message)
      func last(_ caller: Caller) async throws -> JSON? {
        let reply = try await test.perform(ListRooms.self, by: caller, ["user": .string("ann")])
        guard case .array(let entries) = reply.body?["rooms"] else { return nil }
        return entries.first?["lastMessage"]
      }
      for caller in [Caller.backend(acting: nil), try ann("*", [.join, .history])] {
        #expect(try await last(caller)?["preview"] == .string("Kettle is on"))
      }
      for rights: Rights in [.join, .standard.subtracting(.history)] {
        let shown = try await last(ann("*", rights))
        #expect(shown?["seq"] == .number("1") && shown?["from"] == .string("ann") && shown?["preview"] == nil)
      }
    }
  }
}
