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
@testable import RelayStore

/// Performs commands without a socket.
@Suite struct CommandTests {
  @Test func `each frame and each route belongs to one command`() {
    let frames = Commands.all.compactMap { $0.declaration.frame }
    #expect(Set(frames).count == frames.count)
    #expect(Set(frames).isDisjoint(with: Commands.hubFrames.map { $0.name }))
    let routes = Commands.all.compactMap { $0.declaration.route.map { "\($0.method) \($0.path)" } }
    #expect(Set(routes).count == routes.count)
    for command in Commands.all {
      #expect(command.declaration.frame != nil || command.declaration.route != nil, "\(command)")
    }
  }

  @Test func `the hub passes on a send with a field that it does not check`() {
    let checked: Set = [MessageDraft.bodyField.declaration.name, MessageDraft.keyField.declaration.name]
    let declared = Set(Commands.fields(of: "send").map(\.name))
    #expect(Set(HubSend.policyFields) == declared.subtracting(checked))
  }

  @Test func `a declaration implies some errors and lists the others`() {
    let device = GetDevice.declaration
    #expect(device.errors == [.badRequest, .forbidden, .notFound, .rateLimited, .unavailable, .internal])
    #expect(device.declares(RequestError(.notFound, "")))
    #expect(!device.declares(RequestError(.conflict, "")))
    #expect(!device.declares(StoreError.answered))
    #expect(device.declares(StoreError.closed))
    #expect(GetCategories.declaration.errors == [.forbidden, .rateLimited, .unavailable, .internal])
    #expect(ReadHistory.declaration.errors == device.errors.union([.notJoined]))
    // A session gets the same error for every room that it has not joined.
    #expect(!QueryPresence.declaration.errors.contains(.notFound))
    #expect(Watch.declaration.declares(HubRefusal.gone))
    #expect(!Watch.declaration.declares(HubRefusal.notThere))
  }

  @Test func `a message is sent once for an idempotency key`() async throws {
    try await TestRelay.run { test async throws in
      try await addMembers("ann", "bob", to: "tea", test)
      let message: [String: JSON] = ["room": .string("tea"), "body": .raw(Array("{}".utf8)), "key": .string("k")]
      let first = try await test.perform(PostMessage.self, by: ann, message)
      let second = try await test.perform(PostMessage.self, by: ann, message)
      #expect(first.status == 201)
      #expect(second.status == 200)
      #expect(second.body?["seq"] == first.body?["seq"])
      #expect(second.body?["duplicate"] == .bool(true))
      let page = try await test.perform(ReadHistory.self, by: ann, ["room": .string("tea")])
      guard case .array(let messages) = page.body?["messages"] else {
        Issue.record("no messages")
        return
      }
      #expect(messages.count == 1)
    }
  }

  @Test func `the key of the header replaces the key of the body`() async throws {
    try await TestRelay.run { test async throws in
      try await addMembers("ann", to: "tea", test)
      let message: [String: JSON] = ["room": .string("tea"), "body": .raw(Array("1".utf8)), "key": .string("k")]
      #expect(try await test.perform(PostMessage.self, by: ann, message, key: "a").status == 201)
      #expect(try await test.perform(PostMessage.self, by: ann, message, key: "a").status == 200)
      #expect(try await test.perform(PostMessage.self, by: ann, message).status == 201)
      let error = await refusal { _ = try await test.perform(PostMessage.self, by: ann, message, key: "") }
      #expect(error?.at == "/headers/idempotency-key")
    }
  }

  @Test func `only its sender and a moderator delete a message`() async throws {
    try await TestRelay.run { test async throws in
      try await addMembers("ann", "bob", to: "tea", test)
      for _ in 0..<3 {
        _ = try await test.perform(
          PostMessage.self, by: ann, ["room": .string("tea"), "body": .raw(Array("1".utf8))])
      }
      func delete(_ seq: Int, _ caller: Caller) async throws -> Int {
        try await test.perform(
          DeleteMessage.self, by: caller, ["room": .string("tea"), "seq": .number("\(seq)")]
        ).status
      }
      let bob = try await user("bob", test)
      let error = await refusal { _ = try await delete(1, bob) }
      #expect(error?.code == .forbidden)
      let sender = try await user("ann", test)
      #expect(try await delete(1, sender) == 204)
      #expect(try await delete(1, sender) == 204)
      let moderator = try await user("bob", test, can: .moderate)
      #expect(try await delete(2, moderator) == 204)
      #expect(try await delete(3, ann) == 204)
      #expect(try await delete(9, ann) == 204)
    }
  }

  @Test func `a key creates a room once, and two people have one direct room`() async throws {
    try await TestRelay.run { test async throws in
      let group: [String: JSON] = ["title": .string("Books"), "members": .array([.string("bob")])]
      let acting = Caller.backend(acting: UserID(unchecked: "ann"))
      let first = try await test.perform(CreateRoom.self, by: acting, group, key: "k")
      let second = try await test.perform(CreateRoom.self, by: acting, group, key: "k")
      #expect(first.status == 201)
      #expect(second.status == 200)
      #expect(first.body?["room"] == second.body?["room"])
      async let one = test.perform(OpenDirectRoom.self, as: "ann", pair("ann", "bob"))
      async let other = test.perform(OpenDirectRoom.self, as: "bob", pair("bob", "ann"))
      let rooms = try await [one, other].map { $0.body?["room"] }
      #expect(rooms[0] != nil && rooms[0] == rooms[1])
    }
  }

  private func pair(_ user: String, _ other: String) -> [String: JSON] {
    ["user": .string(user), "other": .string(other)]
  }

  @Test func `a user cannot act for another user`() async throws {
    try await TestRelay.run { test async throws in
      let ann = try await user("ann", test)
      let commands = Commands.all.filter { command in
        let declaration = command.declaration
        let isAboutUser = declaration.route?.path.contains("{user}") == true
        return isAboutUser && declaration.callers != .backend && command != GetPresence.self
      }
      #expect(commands.count >= 12)
      for command in commands {
        let members: [String: JSON] = [
          "user": .string("bob"), "other": .string("cleo"), "room": .string("tea"), "device": .string("phone"),
        ]
        let error = await refusal { _ = try await test.perform(command, by: ann, members) }
        #expect(error?.code == .forbidden, "\(command)")
        #expect(error?.at?.hasSuffix("/user") == true, "\(command)")
      }
      #expect(try await test.perform(GetPreferences.self, by: ann, ["user": .string("me")]).status == 200)
      let backend = Caller.backend(acting: nil)
      let error = await refusal {
        _ = try await test.perform(GetPreferences.self, by: backend, ["user": .string("me")])
      }
      #expect(error?.code == .badRequest)
    }
  }

  @Test func `only backends may request a command for backends`() async throws {
    try await TestRelay.run { test async throws in
      let ann = try await user("ann", test)
      let reporter = Caller.reporter(ReportKeyOwner(user: UserID(unchecked: "ann"), device: .default, grants: nil))
      for command in Commands.all {
        let callers = command.declaration.callers
        if callers == .backend {
          #expect(command.declaration.frame == nil, "\(command)")
          let error = await refusal { _ = try await test.perform(command, by: ann) }
          #expect(error?.code == .forbidden, "\(command)")
        }
        guard !callers.includeReporters, command.declaration.route != nil else { continue }
        let error = await refusal { _ = try await test.perform(command, by: reporter) }
        #expect(error?.code == .forbidden, "\(command)")
      }
    }
  }

  @Test func `a report key reports only for its own device`() async throws {
    try await TestRelay.run { test async throws in
      _ = try await user("ann", test)
      let phone = try #require(DeviceID(rawValue: "phone"))
      let reporter = Caller.reporter(ReportKeyOwner(user: UserID(unchecked: "ann"), device: phone, grants: nil))
      let report: [String: JSON] = ["user": .string("me"), "isFocused": .bool(true)]
      #expect(try await test.perform(SetFocus.self, by: reporter, report).status == 200)
      let error = await refusal {
        _ = try await test.perform(SetFocus.self, by: reporter, report.merging(["device": .string("tablet")]) { $1 })
      }
      #expect(error?.code == .forbidden)
      #expect(error?.at == "/device")
    }
  }

  @Test func `a report key changes calls only as its own device`() async throws {
    try await TestRelay.run { test async throws in
      let phone = try #require(DeviceID(rawValue: "phone"))
      let reporter = Caller.reporter(ReportKeyOwner(user: UserID(unchecked: "ann"), device: phone, grants: nil))
      let call: [String: JSON] = ["room": .string("tea"), "seq": .number("1"), "device": .string("tablet")]
      for command: any Command.Type in [AnswerCall.self, DeclineCall.self, HangUpCall.self] {
        #expect(command.declaration.callers == .reporters, "\(command)")
        let error = await refusal { _ = try await test.perform(command, by: reporter, call) }
        #expect(error?.at == "/device", "\(command)")
      }
    }
  }

  @Test func `another device does not hang up for its user, and a backend that names no device does`() async throws {
    try await TestRelay.run { test async throws in
      try await addMembers("ann", "bob", to: "tea", test)
      let phone = try #require(DeviceID(rawValue: "phone"))
      let reporter = Caller.reporter(ReportKeyOwner(user: UserID(unchecked: "bob"), device: phone, grants: nil))
      let rung = try await test.perform(Ring.self, as: "ann", ["room": .string("tea")])
      let call: [String: JSON] = ["room": .string("tea"), "seq": try #require(rung.body?["seq"])]
      let onTablet = call.merging(["device": .string("tablet")]) { $1 }
      #expect(try await test.perform(AnswerCall.self, by: reporter, call).status == 200)
      let (bob, backend) = (try await user("bob", test), Caller.backend(acting: UserID(unchecked: "bob")))
      for (caller, fields) in [(bob, call), (bob, onTablet), (backend, onTablet)] {
        await #expect(throws: StoreError.call(.answeredOn(phone))) {
          _ = try await test.perform(HangUpCall.self, by: caller, fields)
        }
      }
      let ended = try await test.perform(HangUpCall.self, by: backend, call)
      #expect(ended.body?["state"] == .string("ended"))
    }
  }

  @Test func `a token without the right to the account cannot change it`() async throws {
    try await TestRelay.run { test async throws in
      let ann = try await user("ann", test, account: [])
      let members: [String: JSON] = [
        "user": .string("me"), "other": .string("cleo"), "device": .string("phone"), "token": .string("t"),
        "platform": .string("simulator"),
      ]
      for command in Commands.all where !command.declaration.account.isEmpty {
        let error = await refusal { _ = try await test.perform(command, by: ann, members) }
        #expect(error?.code == .forbidden, "\(command)")
        #expect(error?.message.contains("account") == true, "\(command)")
      }
    }
  }

  @Test func `a caller without the right in the room is rejected`() async throws {
    try await TestRelay.run { test async throws in
      try await addMembers("ann", to: "tea", test)
      let members: [String: JSON] = [
        "room": .string("tea"), "seq": .number("1"), "body": .raw(Array("1".utf8)), "key": .string("k"),
        "report": .number("1"), "state": .string("resolved"), "reason": .string("spam"),
      ]
      let commands = Commands.all.filter { $0.declaration.route?.path.contains("{room}") == true }
      #expect(commands.count >= 9)
      for command in commands where !command.declaration.rights.isEmpty {
        let names = command.declaration.rights.names.joined(separator: ", ")
        let ann = try await user("ann", test, only: .standard.subtracting(command.declaration.rights))
        let role: [String: JSON] = ["user": .string("ann"), "role": .string("member")]
        let others: [String: [String: JSON]] = [
          AddMember.operation: ["user": .string("me")], AcceptInvitation.operation: ["user": .string("me")],
          SetRole.operation: role,
          RestrictMember.operation: ["user": .string("cleo")],
        ]
        let fields = members.merging(others[command.operation] ?? [:]) { $1 }
        let error = await refusal { _ = try await test.perform(command, by: ann, fields) }
        #expect(error?.code == .forbidden, "\(command)")
        #expect(error?.message == "the right \(names) is needed in tea", "\(command)")
      }
    }
  }

  @Test func `a user is focused while one device reports it`() async throws {
    try await TestRelay.run { test async throws in
      func report(_ device: String, _ isFocused: Bool) async throws -> JSON? {
        try await test.perform(
          SetFocus.self, as: "ann",
          ["user": .string("me"), "device": .string(device), "isFocused": .bool(isFocused)]
        ).body?["isFocused"]
      }
      #expect(try await report("phone", true) == .bool(true))
      #expect(try await report("tablet", false) == .bool(true))
    }
  }

  @Test func `a block hides the Focus, and its end shows it again`() async throws {
    try await TestRelay.run { test async throws in
      try await addMembers("ann", "bob", to: "tea", test)
      let bob = try await user("bob", test)
      let members: [String: JSON] = ["user": .string("ann"), "other": .string("bob")]
      let focus: [String: JSON] = ["user": .string("me"), "device": .string("phone"), "isFocused": .bool(true)]
      _ = try await test.perform(SetFocus.self, as: "ann", focus)
      func presence() async throws -> JSON? {
        try await test.perform(GetPresence.self, by: bob, ["user": .string("ann")]).body?["isFocused"]
      }
      let before = try await presence()
      #expect(before == .bool(true))
      #expect(try await test.perform(Block.self, as: "ann", members).status == 200)
      let during = try await presence()
      #expect(during != before)
      #expect(try await test.perform(Unblock.self, as: "ann", members).status == 204)
      let after = try await presence()
      #expect(after == before)
      for command in [Block.self, Unblock.self] as [any Command.Type] {
        let error = await refusal {
          _ = try await test.perform(command, as: "ann", ["user": .string("me"), "other": .string("ann")])
        }
        #expect(error?.code == .badRequest, "\(command)")
      }
    }
  }

  // MARK: Callers

  private let ann = Caller.backend(acting: UserID(unchecked: "ann"))

  /// A user with a token. Loads the user into memory, as an HTTP request does.
  private func user(
    _ name: String, _ test: TestRelay, can rights: Rights? = nil, only: Rights? = nil, account: AccountRights = .all
  ) async throws -> Caller {
    let id = UserID(unchecked: name)
    _ = try await test.core.retained(id)
    let anything = try #require(Glob("*"))
    let grants = (only ?? rights?.union(.standard)).map { [Grant(match: anything, can: $0)] }
    return .user(
      Identity(user: User(id: id), permissions: Permissions(grants: grants, watch: [], account: account), expires: nil))
  }

  private func addMembers(_ users: String..., to room: String, _ test: TestRelay) async throws {
    for user in users {
      let members: [String: JSON] = ["room": .string(room), "user": .string(user)]
      #expect(try await test.perform(AddMember.self, as: user, members).status == 201)
    }
  }

  private func refusal(_ body: () async throws -> Void) async -> RequestError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? RequestError
    }
  }
}

extension Core {
  fileprivate func retained(_ user: UserID) async throws { _ = try await relay.people.retain(user, on: self) }
}
