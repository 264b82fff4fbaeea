// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests
@testable import RelayState

/// Invitations without a transport.
@Suite struct InvitationCommandTests {
  private func user(_ name: String, _ test: TestRelay) async throws -> Caller {
    let id = UserID(unchecked: name)
    _ = try await test.core.kept(id)
    // Moderators invite.
    let grant = Grant(match: try #require(Glob("*")), can: .standard.union(.moderate))
    return .user(
      Identity(user: User(id: id), permissions: Permissions(grants: [grant], watch: [], account: .all), expires: nil))
  }

  private func add(_ user: String, to room: String, by caller: Caller, _ test: TestRelay) async throws -> (
    status: Int, body: JSON?
  ) {
    try await test.perform(AddMember.self, by: caller, ["room": .string(room), "user": .string(user)])
  }

  private func refusal(_ body: () async throws -> Void) async -> RequestError? {
    do {
      try await body()
      return nil
    } catch {
      return RequestError(known: error)
    }
  }

  /// The rooms to which a user is invited, newest first.
  private func rooms(of caller: Caller, _ test: TestRelay) async throws -> [String?] {
    let page = try await test.perform(ListInvitations.self, by: caller, ["user": .string("me")])
    guard case .array(let invitations) = page.body?["invitations"] else { return [] }
    return invitations.map { $0["room"]?.text }
  }

  @Test func `a user invites strangers, and a backend adds them`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      #expect(try await add("ann", to: "tea", by: ann, test).status == 201)
      let first = try await add("bob", to: "tea", by: ann, test)
      let expected: [String: JSON] = ["room": .string("tea"), "user": .string("bob"), "invited": .bool(true)]
      #expect(first.status == 201 && first.body == .object(expected))
      #expect(try await add("bob", to: "tea", by: ann, test).status == 200)
      #expect(try await rooms(of: bob, test) == ["tea"])
      let added = try await add("bob", to: "tea", by: .backend(acting: nil), test)
      #expect(added.status == 201 && added.body?["memberCount"] == .number("2"))
      #expect(try await rooms(of: bob, test) == [])
      // They share a room now.
      #expect(try await add("ann", to: "den", by: ann, test).status == 201)
      #expect(try await add("bob", to: "den", by: ann, test).body?["memberCount"] == .number("2"))
    }
  }

  @Test func `the number of invitations of a user in memory is right after each change`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      let id = UserID(unchecked: "bob")
      let handle = try await test.core.kept(id)
      func count(on core: isolated Core) async throws -> Int {
        try await core.relay.invitations.count(of: handle, named: id, on: core)
      }
      for room in ["tea", "den"] {
        #expect(try await count(on: test.core) == 0)
        #expect(try await add("ann", to: room, by: .backend(acting: nil), test).status == 201)
        #expect(try await count(on: test.core) == 0)
        #expect(try await add("bob", to: room, by: ann, test).body?["invited"] == .bool(true))
        #expect(try await count(on: test.core) == 1)
        let members: [String: JSON] = ["user": .string("me"), "room": .string(room)]
        #expect(try await test.perform(DeclineInvitation.self, by: bob, members).status == 204)
      }
    }
  }

  @Test(arguments: [(InvitationPolicy.all, true, true), (.unknown, true, false), (.none, false, false)])
  func `the setting decides which people are invited`(
    policy: InvitationPolicy, invitesStranger: Bool, invitesKnown: Bool
  ) async throws {
    try await TestRelay.run({ $0.invitations = policy }) { test async throws in
      let ann = try await user("ann", test)
      for name in ["ann", "bob"] { _ = try await add(name, to: "tea", by: .backend(acting: nil), test) }
      let group = try await test.perform(
        CreateRoom.self, by: ann, ["room": .string("books"), "members": .array([.string("bob"), .string("eve")])])
      #expect(group.status == 201)
      let members = try await test.perform(ListMembers.self, as: "ann", ["room": .string("books")])
      let count = 1 + (invitesStranger ? 0 : 1) + (invitesKnown ? 0 : 1)
      #expect(members.body?["memberCount"] == .number("\(count)"))
      let (bob, eve) = (try await user("bob", test), try await user("eve", test))
      #expect(try await rooms(of: bob, test) == (invitesKnown ? ["books"] : []))
      #expect(try await rooms(of: eve, test) == (invitesStranger ? ["books"] : []))
    }
  }

  @Test func `an invited user accepts, and has not read the later messages`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      let members: [String: JSON] = ["user": .string("me"), "room": .string("tea")]
      let early = await refusal { _ = try await test.perform(AcceptInvitation.self, by: bob, members) }
      #expect(early?.code == .notFound)
      _ = try await add("ann", to: "tea", by: ann, test)
      func post() async throws {
        _ = try await test.perform(PostMessage.self, by: ann, ["room": .string("tea"), "body": .raw(Array("1".utf8))])
      }
      try await post()
      _ = try await add("bob", to: "tea", by: ann, test)
      try await post()
      let accepted = try await test.perform(AcceptInvitation.self, by: bob, members)
      #expect(accepted.status == 201)
      #expect(accepted.body?["read"] == .number("1") && accepted.body?["seq"] == .number("2"))
      #expect(accepted.body?["memberCount"] == .number("2"))
      #expect(try await test.perform(AcceptInvitation.self, by: bob, members).status == 200)
      let page = try await test.perform(ReadHistory.self, by: bob, ["room": .string("tea")])
      guard case .array(let messages) = page.body?["messages"] else {
        Issue.record("no messages")
        return
      }
      #expect(messages.count == 2)
    }
  }

  @Test func `a user invites a limited number of new people in a day`() async throws {
    try await TestRelay.run({ $0.limits.newPeoplePerDay = 3 }) { test async throws in
      let ann = try await user("ann", test)
      func create(_ people: String...) async -> RequestError? {
        await refusal {
          _ = try await test.perform(
            CreateRoom.self, by: ann, ["members": .array(people.map { .string($0) })])
        }
      }
      let large = await create("a", "b", "c", "d")
      #expect(large?.code == .tooLarge && large?.message.contains("newPeoplePerDay") == true)
      func make() async throws -> Int {
        let members: [String: JSON] = ["members": .array([.string("a"), .string("b")])]
        return try await test.perform(CreateRoom.self, by: ann, members, key: "k").status
      }
      #expect(try await make() == 201)
      #expect(try await make() == 200)
      // A request that fails does not count.
      _ = try await add("ann", to: "tea", by: .backend(acting: nil), test)
      let known = await refusal {
        _ = try await test.perform(
          CreateRoom.self, by: ann, ["room": .string("tea"), "members": .array([.string("c")])])
      }
      #expect(known?.code == .conflict)
      // Several invitations of one person count each.
      #expect(await create("a") == nil)
      let last = await create("a")
      #expect(last?.code == .rateLimited && last?.message.contains("newPeoplePerDay") == true)
      #expect((last?.retryAfter ?? .zero) > .seconds(86_000))
      // A repeated request has the result of the first one.
      #expect(try await make() == 200)
      #expect(try await add("bob", to: "tea", by: .backend(acting: nil), test).status == 201)
    }
  }

  @Test func `the list has pages, and names a wrong field`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      for room in ["a", "b", "c"] {
        _ = try await add("ann", to: room, by: ann, test)
        _ = try await add("bob", to: room, by: ann, test)
      }
      func page(_ members: [String: JSON]) async throws -> (rooms: [String?], next: String?) {
        let fields = members.merging(["user": .string("me")]) { $1 }
        let body = try await test.perform(ListInvitations.self, by: bob, fields).body
        guard case .array(let list) = body?["invitations"] else { return ([], nil) }
        return (list.map { $0["room"]?.text }, body?["next"]?.text)
      }
      let first = try await page(["limit": .number("2")])
      #expect(first.rooms == ["c", "b"])
      let next = try #require(first.next)
      let second = try await page(["limit": .number("2"), "after": .string(next)])
      #expect(second.rooms == ["a"] && second.next == nil)
      for (field, value) in [
        ("limit", .number("0")), ("limit", .number("101")), ("limit", .string("1")), ("after", .string("")),
        ("after", .string("x")), ("after", .string("0")), ("after", .number("1")),
      ] as [(String, JSON)] {
        let error = await refusal { _ = try await page([field: value]) }
        #expect(error?.code == .badRequest && error?.at == "/\(field)", "\(field) \(value)")
      }
    }
  }

  @Test func `declining ends the invitation, and a second time changes nothing`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      _ = try await add("ann", to: "tea", by: ann, test)
      _ = try await add("bob", to: "tea", by: ann, test)
      for _ in 0..<2 {
        let declined = try await test.perform(
          DeclineInvitation.self, by: bob, ["user": .string("me"), "room": .string("tea")])
        #expect(declined.status == 204)
        #expect(try await rooms(of: bob, test) == [])
      }
    }
  }

  @Test func `moderators see the invited users, and the inviter withdraws an invitation`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      _ = try await add("ann", to: "tea", by: ann, test)
      _ = try await add("bob", to: "tea", by: ann, test)
      let room = try await test.perform(GetRoom.self, by: ann, ["room": .string("tea")])
      guard case .array(let invited) = room.body?["invited"] else {
        Issue.record("nobody is invited")
        return
      }
      #expect(invited.map { $0["user"] } == [.string("bob")] && invited.map { $0["by"] } == [.string("ann")])
      let member: [String: JSON] = ["room": .string("tea"), "user": .string("bob")]
      #expect(try await test.perform(RemoveMember.self, by: ann, member).status == 204)
      #expect(try await rooms(of: bob, test) == [])
      #expect(try await test.perform(GetRoom.self, by: ann, ["room": .string("tea")]).body?["invited"] == nil)
    }
  }

  @Test func `a user who has blocked the caller is invited, and sees nothing of it`() async throws {
    try await TestRelay.run({ $0.invitations = .none }) { test async throws in
      let (ann, bob) = (try await user("ann", test), try await user("bob", test))
      _ = try await test.perform(Block.self, by: bob, ["user": .string("me"), "other": .string("ann")])
      _ = try await add("ann", to: "tea", by: ann, test)
      #expect(try await add("bob", to: "tea", by: ann, test).body?["invited"] == .bool(true))
      let direct = try await test.perform(
        OpenDirectRoom.self, by: ann, ["user": .string("me"), "other": .string("bob")])
      #expect(direct.status == 201)
      #expect(try await rooms(of: bob, test) == [])
      let error = await refusal {
        _ = try await test.perform(AcceptInvitation.self, by: bob, ["user": .string("me"), "room": .string("tea")])
      }
      #expect(error?.code == .notFound)
    }
  }
}

extension Core {
  fileprivate func kept(_ user: UserID) async throws -> UserHandle { try await relay.people.retain(user, on: self) }
}
