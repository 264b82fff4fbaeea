// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayIdentity
@testable import RelayRequests
@testable import RelayState

/// The audit log, written and read by commands.
@Suite struct AuditCommandTests {
  private static let billing = Caller.backend(acting: nil, key: BackendKey(name: "billing"))

  /// The entries of a page, each as `key operation result room users target`.
  private func entries(_ test: TestRelay, _ query: [String: JSON] = [:]) async throws -> [String] {
    let page = try await test.perform(ListAuditEntries.self, by: .backend(acting: nil), query).body
    guard case .object(let members)? = page, case .array(let entries)? = members["entries"] else { return [] }
    return entries.map { entry in
      guard case .object(let members) = entry else { return "" }
      return ["key", "operation", "result", "room", "users", "target"].map { key -> String in
        switch members[key] {
        case .string(let text): text
        case .array(let names):
          names.map { if case .string(let name) = $0 { name } else { "?" } }.joined(separator: "+")
        default: "-"
        }
      }.joined(separator: " ")
    }
  }

  private func error(_ body: () async throws -> Void) async -> RequestError? {
    do {
      try await body()
      return nil
    } catch {
      return RequestError(known: error)
    }
  }

  private static func names(_ room: String, _ user: String) -> [String: JSON] {
    ["room": .string(room), "user": .string(user)]
  }

  @Test func `an answered change has its entry, and reads and messages have none`() async throws {
    try await TestRelay.run { test async throws in
      #expect(try await test.perform(AddMember.self, by: Self.billing, Self.names("tea", "ann")).status == 201)
      #expect(try await entries(test) == ["billing addMember ok tea ann -"])
      _ = try await test.perform(ListMembers.self, by: Self.billing, ["room": .string("tea")])
      let message: [String: JSON] = [
        "room": .string("tea"), "from": .string("ann"), "body": .raw(Array(#""secret""#.utf8)),
      ]
      #expect(try await test.perform(PostMessage.self, by: Self.billing, message).status == 201)
      _ = try await test.perform(
        DeleteMessage.self, by: Self.billing, ["room": .string("tea"), "seq": .number("1")])
      #expect(try await entries(test) == ["billing deleteMessage ok tea - 1", "billing addMember ok tea ann -"])
      #expect(await test.core.auditCounters.stored == 2)
    }
  }

  @Test func `users, and backends without a key, have no entries`() async throws {
    try await TestRelay.run { test async throws in
      _ = try await test.perform(AddMember.self, by: .backend(acting: nil), Self.names("tea", "ann"))
      _ = try await test.perform(CreateRoom.self, as: "ann")
      #expect(try await entries(test).isEmpty)
    }
  }

  @Test func `an entry has the room that a request has created or found`() async throws {
    try await TestRelay.run { test async throws in
      _ = try await test.perform(CreateRoom.self, by: Self.billing, ["owner": .string("ann")])
      let people: [String: JSON] = ["user": .string("ann"), "other": .string("bob")]
      for _ in 0..<2 { _ = try await test.perform(OpenDirectRoom.self, by: Self.billing, people) }
      let found = try await entries(test).map { $0.split(separator: " ").map(String.init) }
      #expect(found.count == 3 && found[0] == found[1])
      #expect(found[0][3].hasPrefix("direct.") && found[0][4] == "ann+bob")
      #expect(found[2][3].hasPrefix("group.") && found[2][4] == "ann")
    }
  }

  @Test func `a refused request has an entry with its code`() async throws {
    try await TestRelay.run { test async throws in
      let scope = KeyScope(name: "narrow", rights: KeyRights(rooms: [Glob("in*")].compactMap { $0 }))
      let narrow = Caller.backend(acting: nil, key: BackendKey(name: "bot", scope: scope))
      let outside = Self.names("out", "ann")
      for command: any Command.Type in [AddMember.self, GetRoom.self] {
        #expect(await error { _ = try await test.perform(command, by: narrow, outside) }?.code == .forbidden)
      }
      let missing = await error { _ = try await test.perform(SetRole.self, by: Self.billing, ["room": .string("tea")]) }
      #expect(missing?.code == .badRequest)
      let expected = [
        "billing setRole bad_request tea - -", "bot getRoom forbidden out ann -", "bot addMember forbidden out ann -",
      ]
      // The entries of refused requests are stored within a moment.
      while try await entries(test).count < expected.count { await Task.yield() }
      #expect(try await entries(test) == expected)
    }
  }

  /// Adds a member. Then the disk refuses all changes, before the entry of the audit log.
  private struct AddMemberAndFail: Command {
    static let declaration = AddMember.declaration
    static let operation = AddMember.operation
    private let command: AddMember

    init(_ request: Request) throws(RequestError) { command = try AddMember(request) }

    func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
      let reply = try await command.run(relay, on: core)
      try await core.store.setWritable(false)
      return reply
    }
  }

  @Test func `if the disk refuses only the entry, the answer is that of the change`() async throws {
    try await TestRelay.run { test async throws in
      #expect(try await test.perform(AddMemberAndFail.self, by: Self.billing, Self.names("tea", "ann")).status == 201)
      #expect(await test.core.auditCounters == AuditLog.Counters())
      // The answer to a change that the disk refuses is an error.
      let refused = await error {
        _ = try await test.perform(AddMember.self, by: Self.billing, Self.names("tea", "bob"))
      }
      #expect(refused?.code == .unavailable)
      #expect(try await entries(test).isEmpty)
      try await test.core.store.setWritable(true)
      let expected: Set = ["billing addMember unavailable tea bob -", "billing addMember ok tea ann -"]
      while try await entries(test).count < expected.count { try await Task.sleep(for: .milliseconds(10)) }
      #expect(try await Set(entries(test)) == expected)
      let members = try await test.perform(ListMembers.self, by: Self.billing, ["room": .string("tea")]).body
      guard case .array(let list)? = members?["members"] else {
        Issue.record("the reply has no members")
        return
      }
      #expect(list.map { $0["user"] } == [.string("ann")])
    }
  }

  @Test func `more refused requests than the rate are counted`() async throws {
    try await TestRelay.run { test async throws in
      var count = 0
      // On a slow machine, the rate permits more entries meanwhile.
      while await test.core.auditCounters.skipped == 0, count < 100_000 {
        _ = await error { _ = try await test.perform(SetRole.self, by: Self.billing, ["room": .string("tea")]) }
        count += 1
      }
      while await test.core.auditCounters.stored + test.core.auditCounters.skipped < count { await Task.yield() }
      let counters = await test.core.auditCounters
      #expect(counters.stored >= AuditedRefusals.rate.burst && counters.skipped > 0 && counters.lost == 0)
      #expect(try await entries(test, ["limit": .number("1000")]).count == Int(counters.stored))
    }
  }

  @Test func `the settings turn the log off, or extend it`() async throws {
    try await TestRelay.run {
      $0.audit.maxEntries = 0
    } _: { test async throws in
      _ = try await test.perform(AddMember.self, by: Self.billing, Self.names("tea", "ann"))
      #expect(try await entries(test).isEmpty)
    }
    try await TestRelay.run {
      $0.audit.operations = ["read"]
    } _: { test async throws in
      _ = try await test.perform(AddMember.self, by: Self.billing, Self.names("tea", "ann"))
      _ = try await test.perform(ListMembers.self, by: Self.billing, ["room": .string("tea")])
      while try await entries(test).isEmpty { await Task.yield() }
      #expect(try await entries(test) == ["billing listMembers ok tea - -"])
    }
  }

  @Test func `the maximum number of entries holds`() async throws {
    try await TestRelay.run {
      $0.audit.maxEntries = 2
    } _: { test async throws in
      for user in ["ann", "bob", "eve"] {
        _ = try await test.perform(AddMember.self, by: Self.billing, Self.names("tea", user))
      }
      #expect(try await entries(test) == ["billing addMember ok tea eve -", "billing addMember ok tea bob -"])
    }
  }

  @Test func `an erasure leaves nothing but the pseudonym, also in its own entry`() async throws {
    try await TestRelay.run { test async throws in
      _ = try await test.perform(AddMember.self, by: Self.billing, Self.names("tea", "annabelle"))
      let begun = try await test.perform(
        EraseUser.self, by: Self.billing, ["user": .string("annabelle"), "messages": .string("delete")], key: "order-1")
      #expect(begun.status == 202)
      var found: [String] = []
      repeat { found = try await entries(test) } while found.joined().contains("annabelle")
      #expect(found.count == 2)
      let users = Set(found.compactMap { $0.split(separator: " ").dropFirst(4).first })
      #expect(users.count == 1 && users.first?.hasPrefix("erased-") == true)
      #expect(found[0].hasPrefix("billing eraseUser ok - erased-"))
    }
  }

  @Test(
    arguments: [
      (["limit": .number("0")], "/limit"), (["limit": .number("1001")], "/limit"),
      (["before": .number("0")], "/before"),
      (["after": .number("-1")], "/after"), (["before": .number("2"), "after": .number("1")], "/after"),
      (["operation": .string("removeMembr")], "/operation"), (["room": .string("a b")], "/room"),
      (["user": .string("")], "/user"), (["key": .string(String(repeating: "k", count: 65))], "/key"),
    ] as [([String: JSON], String)])
  func `a wrong query names the parameter`(query: [String: JSON], at: String) async throws {
    try await TestRelay.run { test async throws in
      let found = await error { _ = try await test.perform(ListAuditEntries.self, by: Self.billing, query) }
      #expect(found?.code == .badRequest && found?.at == at)
    }
  }

  @Test func `a key with users sees no other users in the entries`() async throws {
    try await TestRelay.run { test async throws in
      let people: [String: JSON] = ["owner": .string("in.ann"), "members": .array([.string("out")])]
      _ = try await test.perform(CreateRoom.self, by: Self.billing, people, key: "order-out")
      _ = try await test.perform(
        AddMember.self, by: Self.billing, ["room": .string("tea"), "user": .string("in.ann")], key: "order-in")
      let rights = KeyRights(users: [Glob("in*")].compactMap { $0 })
      let narrow = Caller.backend(
        acting: nil, key: BackendKey(name: "bot", scope: KeyScope(name: "s", rights: rights)))
      for (caller, users) in [(Self.billing, ["in.ann", "out"]), (narrow, ["in.ann"])] {
        let page = try await test.perform(ListAuditEntries.self, by: caller, ["user": .string("in.ann")]).body
        guard case .array(let found)? = page?["entries"], found.count == 2 else {
          Issue.record("\(String(describing: page))")
          return
        }
        #expect(found[0]["users"] == .array([.string("in.ann")]) && found[0]["idempotencyKey"] == .string("order-in"))
        #expect(found[1]["users"] == .array(users.map(JSON.string)))
        // The idempotency key may contain the name.
        #expect((found[1]["idempotencyKey"] == nil) == (users.count == 1))
      }
    }
  }

  @Test func `an entry without hidden users has its target`() {
    let rights = KeyRights(users: [Glob("in*")].compactMap { $0 })
    func entry(_ users: [String], target: String?, request: String?) -> AuditEntry {
      AuditEntry(
        time: Timestamp(rawValue: 1), key: "k", operation: "setRole", users: users.map(UserID.init(unchecked:)),
        target: target, request: request)
    }
    let all = entry(["in.ann", "in.bob"], target: "7", request: "r")
    for rights in [rights, KeyRights(), nil] { #expect(all.limited(to: rights) == all) }
    let other = entry(["out", "in.bob"], target: "7", request: "r")
    #expect(other.limited(to: rights) == entry(["in.bob"], target: nil, request: nil))
    for rights in [KeyRights(), nil] { #expect(other.limited(to: rights) == other) }
    let nobody = entry([], target: "7", request: nil)
    #expect(nobody.limited(to: rights) == nobody)
  }

  @Test func `no group of a scope permits the audit log`() {
    #expect(Operation.scopeGroups.values.allSatisfy { !$0.contains(ListAuditEntries.operation) })
    let named = Operation.scopeGroups.values.reduce(into: Set<String>()) { $0.formUnion($1) }
    #expect(named == Operation.names.subtracting([ListAuditEntries.operation]))
    #expect(Operation.groups["read"]?.contains(ListAuditEntries.operation) == true)
  }

  @Test func `a key with rooms or users must name one of them`() async throws {
    try await TestRelay.run { test async throws in
      let pattern = [Glob("in*")].compactMap { $0 }
      let scopes = [
        ("room", KeyRights(rooms: pattern)), ("user", KeyRights(users: pattern)),
      ]
      for (name, rights) in scopes {
        let caller = Caller.backend(
          acting: nil, key: BackendKey(name: "bot", scope: KeyScope(name: "s", rights: rights)))
        for query in [[:], [name: .string("out")]] as [[String: JSON]] {
          #expect(
            await error { _ = try await test.perform(ListAuditEntries.self, by: caller, query) }?.code == .forbidden)
        }
        let inside = try await test.perform(ListAuditEntries.self, by: caller, [name: .string("in.1")])
        #expect(inside.status == 200)
      }
    }
  }
}

extension Core {
  fileprivate var auditCounters: AuditLog.Counters { relay.audit.counters }
}
