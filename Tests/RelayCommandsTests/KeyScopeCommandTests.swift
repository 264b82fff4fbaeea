// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayIdentity
@testable import RelayRequests
@testable import RelayState

/// The scopes of API keys, applied to commands.
@Suite struct KeyScopeCommandTests {
  private static func key(
    operations: Set<String>? = nil, rooms: String? = nil, users: String? = nil
  ) -> BackendKey {
    func patterns(_ text: String?) -> [Glob]? { text.map { $0.split(separator: " ").compactMap { Glob(String($0)) } } }
    return BackendKey(
      name: "bot",
      scope: KeyScope(
        name: "narrow",
        rights: KeyRights(operations: operations, rooms: patterns(rooms), users: patterns(users))))
  }

  private func caller(
    operations: Set<String>? = nil, rooms: String? = nil, users: String? = nil, acting: String? = nil
  ) -> Caller {
    .backend(
      acting: acting.map(UserID.init(unchecked:)), key: Self.key(operations: operations, rooms: rooms, users: users))
  }

  /// Values for all members of requests. The rooms and users are inside of the scope `in*`.
  private static let inside: [String: JSON] = [
    "room": .string("in.tea"), "user": .string("in.ann"), "other": .string("in.bob"), "from": .string("in.ann"),
    "owner": .string("in.ann"), "users": .array([.string("in.ann")]), "members": .array([.string("in.bob")]),
    "rooms": .object(["in.tea": .object([:])]), "seq": .number("1"), "key": .string("k"), "id": .string("p"),
    "device": .string("phone"), "token": .string("t"),
  ]

  private func refusal(_ body: () async throws -> Void) async -> RequestError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? RequestError
    }
  }

  /// A new command is in this table by itself.
  static let routes = Commands.all.filter { $0.declaration.route != nil }

  @Test func `each command outside of the operations is forbidden`() async throws {
    try await TestRelay.run { test async throws in
      for command in Self.routes {
        let others = Operation.names.subtracting([command.operation])
        let error = await refusal {
          _ = try await test.perform(command, by: caller(operations: others), Self.inside)
        }
        #expect(error?.code == .forbidden, "\(command)")
        #expect(
          error?.message
            == "the operation \(command.operation) is outside of the scope narrow of the API key bot", "\(command)")
      }
    }
  }

  @Test func `each command with a room or a user outside of the patterns is forbidden`() async throws {
    try await TestRelay.run { test async throws in
      let outside: [String: JSON] = [
        "room": .string("out"), "rooms": .object(["in.tea": .object([:]), "out": .object([:])]),
        "user": .string("out"), "from": .string("out"), "owner": .string("out"), "other": .string("out"),
        "users": .array([.string("in.ann"), .string("out")]), "members": .array([.string("in.bob"), .string("out")]),
      ]
      #expect(Set(outside.keys) == Set(NamedMembers.rooms + NamedMembers.roomObjects + NamedMembers.users))
      for command in Self.routes {
        for (name, value) in outside {
          let isRoom = (NamedMembers.rooms + NamedMembers.roomObjects).contains(name)
          let members = Self.inside.merging([name: value]) { $1 }
          let narrow = isRoom ? caller(rooms: "in*") : caller(users: "in*")
          let error = await refusal { _ = try await test.perform(command, by: narrow, members) }
          #expect(error?.code == .forbidden, "\(command) \(name)")
          #expect(
            error?.message == "the \(isRoom ? "room" : "user") is outside of the scope narrow of the API key bot",
            "\(command) \(name)")
          let pointer = ["users": "/users/1", "members": "/members/1", "rooms": "/rooms/out"][name] ?? "/\(name)"
          #expect(error?.at == pointer, "\(command) \(name)")
        }
        let acting = caller(users: "in*", acting: "out")
        let error = await refusal { _ = try await test.perform(command, by: acting, Self.inside) }
        #expect(error?.at == "/headers/x-stillwire-user", "\(command)")
      }
    }
  }

  /// Each command that names no room and no user, with the reason why a scope with rooms or users permits it.
  @Test func `a command that names nothing is forbidden, or concerns nobody`() async throws {
    let harmless: Set = [
      "getCategories",  // the same for all
      "lintPush",  // reads only the request
      "getErasure",  // an id that nobody can guess, and counts
      "explainPush", "retryPush", "respond",  // the relay finds the user and the room, and checks them
      "listPresence",  // requires users
      "createRoom",  // requires an owner; the relay checks the generated name of the room
      "decide",  // requires a room and users
    ]
    try await TestRelay.run { test async throws in
      for command in Self.routes {
        let path = command.declaration.route?.path ?? ""
        guard !path.contains("{room}"), !path.contains("{user}") else { continue }
        let found = await refusal {
          _ = try await test.perform(command, by: caller(rooms: "in*", users: "in*"), ["id": .string("p")])
        }
        let isOutside = found?.message.contains("outside of the scope") == true
        #expect(isOutside != harmless.contains(command.operation), "\(command)")
      }
      // The answers of these concern all rooms of the user.
      for command: any Command.Type in [ListRooms.self, ExportUser.self, EraseUser.self] {
        let error = await refusal {
          _ = try await test.perform(command, by: caller(rooms: "in*"), ["user": .string("ann")])
        }
        #expect(error?.message.contains("which concerns all rooms") == true, "\(command)")
      }
    }
  }

  @Test func `a name in the body does not limit an operation on all rooms and users`() async throws {
    try await TestRelay.run { test async throws in
      let names: [String: JSON] = ["categories": .array([]), "room": .string("in.tea"), "user": .string("in.ann")]
      for narrow in [caller(rooms: "in*"), caller(users: "in*")] {
        let error = await refusal { _ = try await test.perform(SetCategories.self, by: narrow, names) }
        #expect(error?.code == .forbidden)
      }
    }
  }

  @Test func `a key inside of its scope, and a key without a scope, may act`() async throws {
    try await TestRelay.run { test async throws in
      let plain = Caller.backend(acting: nil, key: BackendKey(name: "all"))
      let narrow = caller(operations: ["addMember", "sendMessage"], rooms: "in.*", users: "in.*")
      for member in [("in.tea", "in.ann", narrow), ("out", "ann", plain)] {
        let (room, user, caller) = member
        let names: [String: JSON] = ["room": .string(room), "user": .string(user)]
        #expect(try await test.perform(AddMember.self, by: caller, names).status == 201)
        let message: [String: JSON] = [
          "room": .string(room), "from": .string(user), "body": .raw(Array("1".utf8)),
          // A mention only notifies members of the room.
          "mentions": .array([.string("out")]),
        ]
        #expect(try await test.perform(PostMessage.self, by: caller, message).status == 201)
      }
      #expect(await test.core.counters("bot") == Backends.Counters())
    }
  }

  @Test func `a room with a generated name must match the patterns`() async throws {
    try await TestRelay.run { test async throws in
      let people: [String: JSON] = ["user": .string("ann"), "other": .string("bob")]
      let owner: [String: JSON] = ["owner": .string("ann")]
      let error = await refusal { _ = try await test.perform(CreateRoom.self, by: caller(rooms: "in*"), owner) }
      #expect(error?.code == .forbidden)
      #expect(try await test.perform(CreateRoom.self, by: caller(rooms: "group.*"), owner).status == 201)
      for _ in 0..<2 {
        // First there is no room, and then there is one.
        let error = await refusal { _ = try await test.perform(OpenDirectRoom.self, by: caller(rooms: "in*"), people) }
        #expect(error?.code == .forbidden)
        _ = try await test.perform(OpenDirectRoom.self, by: caller(rooms: "direct.*"), people)
      }
      // The room of an earlier request with the same idempotency key.
      let named = owner.merging(["room": .string("out"), "key": .string("k")]) { $1 }
      #expect(try await test.perform(CreateRoom.self, by: caller(), named).status == 201)
      let again = owner.merging(["room": .string("in.x"), "key": .string("k")]) { $1 }
      let refused = await refusal { _ = try await test.perform(CreateRoom.self, by: caller(rooms: "in*"), again) }
      #expect(refused?.code == .forbidden)
    }
  }

  @Test func `requests outside of a scope are counted`() async throws {
    try await TestRelay.run { test async throws in
      for _ in 0..<2 {
        _ = await refusal {
          _ = try await test.perform(GetRoom.self, by: caller(rooms: "in*"), ["room": .string("out")])
        }
      }
      #expect(await test.core.counters("bot").outside == 2)
    }
  }

  // MARK: Presence

  @Test func `a stream of presence has only the users of the scope`() throws {
    let key = Self.key(users: "in.*")
    let all = try PresenceFilter.all.limited(to: key)
    #expect(all.includes(UserID(unchecked: "in.ann")) && !all.includes(UserID(unchecked: "ann")))
    let pattern = try PresenceFilter("*.ann").limited(to: key)
    #expect(pattern.includes(UserID(unchecked: "in.ann")) && !pattern.includes(UserID(unchecked: "out.ann")))
    #expect(!pattern.includes(UserID(unchecked: "in.bob")))
    let error = #expect(throws: RequestError.self) { try PresenceFilter("in.ann,ann").limited(to: key) }
    #expect(error?.code == .forbidden)
    #expect(error?.at == "/query/users")
    #expect(try PresenceFilter("ann").limited(to: nil) == PresenceFilter("ann"))
  }

  // MARK: Rates

  @Test func `a key has its burst, and then its rate`() {
    var rates = KeyRates()
    let start = ContinuousClock.now
    let rate = KeyRate(perSecond: 2, burst: 3)
    for _ in 0..<3 { #expect(rates.take("a", rate, now: start) == nil) }
    #expect(rates.take("a", rate, now: start) == .milliseconds(500))
    // Other keys with the same scope have their own rate.
    #expect(rates.take("b", rate, now: start) == nil)
    #expect(rates.take("a", rate, now: start + .milliseconds(500)) == nil)
    #expect(rates.take("a", rate, now: start + .milliseconds(750)) == .milliseconds(250))
    // After a long time there are no more tokens than the burst.
    let later = start + .seconds(1_000)
    for _ in 0..<3 { #expect(rates.take("a", rate, now: later) == nil) }
    #expect(rates.take("a", rate, now: later) != nil)
  }

  @Test func `a reload lowers the burst at once, and forgets removed keys`() {
    var rates = KeyRates()
    let now = ContinuousClock.now
    _ = rates.take("a", KeyRate(perSecond: 1, burst: 100), now: now)
    #expect(rates.take("a", KeyRate(perSecond: 1, burst: 1), now: now) == nil)
    #expect(rates.take("a", KeyRate(perSecond: 1, burst: 1), now: now) == .seconds(1))
    rates.keep(["b"])
    #expect(rates.count == 0)
  }

  @Test func `a request above the rate is counted`() async throws {
    try await TestRelay.run { test async throws in
      let scope = KeyScope(name: "s", rights: KeyRights(), rate: KeyRate(perSecond: 0.0001, burst: 1))
      let key = BackendKey(name: "bot", scope: scope)
      try await test.core.admit(key)
      let error = await refusal { try await test.core.admit(key) }
      #expect(error?.code == .rateLimited)
      #expect(error?.retryAfter.map { $0 > .seconds(9_000) && $0 <= .seconds(10_000) } == true)
      #expect(await test.core.counters("bot") == Backends.Counters(requests: 2, outside: 0, limited: 1))
      for _ in 0..<3 { try await test.core.admit(BackendKey(name: "all")) }
    }
  }
}

extension Core {
  fileprivate func counters(_ key: String) -> Backends.Counters { relay.backends[key] }
  fileprivate func admit(_ key: BackendKey) throws(RequestError) { try relay.backends.admit(key) }
}
