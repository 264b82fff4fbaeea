// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayIdentity
@testable import RelayRequests
@testable import RelayState

/// The lists of an operator.
@Suite struct ListCommandTests {
  private static let backend = Caller.backend(acting: nil)
  private static let lists: [any Command.Type] = [ListAllRooms.self, ListUsers.self, ListAllSessions.self]

  /// The names of the entries of a page, and true if there are more.
  private func page(
    _ list: any Command.Type, _ entries: String, _ name: String, _ query: [String: JSON], _ test: TestRelay
  ) async throws -> (names: [String], more: JSON?) {
    let body = try await test.perform(list, by: Self.backend, query).body
    guard case .array(let found)? = body?[entries] else { return ([], nil) }
    let names = found.map { if case .string(let name)? = $0[name] { name } else { "?" } }
    return (names, body?["more"])
  }

  private func addMembers(_ room: String, _ users: String..., on test: TestRelay) async throws {
    for user in users {
      let names: [String: JSON] = ["room": .string(room), "user": .string(user)]
      _ = try await test.perform(AddMember.self, by: Self.backend, names)
    }
  }

  @Test(arguments: 1...5) func `the pages of rooms and users have each of them once`(limit: Int) async throws {
    try await TestRelay.run { test async throws in
      for room in ["tea", "a", "tea.2", "B"] { try await addMembers(room, "ann", "bob", "eve", on: test) }
      for (list, entries, name, expected) in [
        (ListAllRooms.self, "rooms", "room", ["B", "a", "tea", "tea.2"]),
        (ListUsers.self, "users", "user", ["ann", "bob", "eve"]),
      ] as [(any Command.Type, String, String, [String])] {
        var found: [String] = []
        var more: JSON? = .bool(true)
        while more == .bool(true) {
          var query: [String: JSON] = ["limit": .number("\(limit)")]
          if let last = found.last { query["after"] = .string(last) }
          let page = try await page(list, entries, name, query, test)
          #expect(page.names.count <= limit && (page.names.count == limit || page.more == .bool(false)))
          found += page.names
          more = page.more
        }
        #expect(found == expected)
      }
      let prefixed = try await page(ListAllRooms.self, "rooms", "room", ["prefix": .string("tea")], test)
      #expect(prefixed.names == ["tea", "tea.2"])
    }
  }

  @Test func `a wrong prefix, name, limit or session is refused`() async throws {
    let wrong: [(any Command.Type, String, JSON)] = [
      (ListAllRooms.self, "prefix", .string("a b")), (ListUsers.self, "prefix", .string("")),
      (ListAllRooms.self, "after", .string("/")), (ListUsers.self, "after", .string("me")),
      (ListAllSessions.self, "after", .string("!")), (ListAllSessions.self, "after", .string("zzz")),
      (ListAllSessions.self, "limit", .number("101")), (ListAllSessions.self, "room", .string(" ")),
    ]
    try await TestRelay.run { test async throws in
      for (list, field, value) in wrong {
        do {
          _ = try await test.perform(list, by: Self.backend, [field: value])
          Issue.record("\(list) accepts \(field) \(value)")
        } catch let error as RequestError {
          #expect(error.at == "/\(field)" && [.badRequest].contains(error.code), "\(list) \(field): \(error)")
        }
      }
    }
  }

  @Test func `a page of users online behind an unknown user is refused`() async throws {
    try await TestRelay.run { test async throws in
      let error = await #expect(throws: RequestError.self) {
        try await test.perform(
          ListUsers.self, by: Self.backend, ["online": .bool(true), "after": .string("nobody")])
      }
      #expect(error?.at == "/after" && error?.code == .badRequest)
      _ = try await test.perform(ListUsers.self, by: Self.backend, ["after": .string("nobody")])
    }
  }

  @Test func `a scope permits the lists by their group, and only for all rooms and users`() async throws {
    func caller(_ rights: KeyRights) -> Caller {
      .backend(acting: nil, key: BackendKey(name: "admin", scope: KeyScope(name: "s", rights: rights)))
    }
    let names = try #require(Operation.scopeGroups["lists"])
    #expect(names == ["listAllRooms", "listUsers", "listAllSessions", "listPushes"])
    try await TestRelay.run { test async throws in
      for list in Self.lists + [ListPushes.self] {
        #expect(try await test.perform(list, by: caller(KeyRights(operations: names))).status == 200)
        let pattern = [Glob("in*")].compactMap { $0 }
        for rights in [
          KeyRights(operations: ["addMember"]), KeyRights(rooms: pattern), KeyRights(users: pattern),
        ] {
          let error = await #expect(throws: RequestError.self) { try await test.perform(list, by: caller(rights)) }
          #expect(error?.code == .forbidden && error?.message.contains("outside of the scope s") == true, "\(list)")
        }
      }
    }
  }
}

/// The first names of a range among names in any order.
@Suite struct FirstNamesTests {
  @Test(arguments: 1...9) func `the first names are those of a sorted list`(max: Int) {
    let names = ["tea", "a", "b.1", "z", "b", "A", "b.2"].map(RoomID.init(unchecked:))
    for range in [NameRange(), NameRange(prefix: "b"), NameRange(after: "b"), NameRange(prefix: "b", after: "b.1")] {
      var first = FirstNames<RoomID>(in: range, max: max)
      for name in names { first.add(name) }
      #expect(first.names == Array(names.filter { range.contains($0.rawValue) }.sorted().prefix(max)))
    }
  }
}
