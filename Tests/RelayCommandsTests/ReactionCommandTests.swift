// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests

/// The commands `react` and `unreact`, without a transport.
@Suite struct ReactionCommandTests {
  private func prepare(_ test: TestRelay, room: String = "tea") async throws {
    _ = try await test.perform(AddMember.self, as: "ann", ["room": .string(room), "user": .string("ann")])
    _ = try await test.perform(PostMessage.self, as: "ann", ["room": .string(room), "body": .raw(Array("1".utf8))])
  }

  private func reaction(_ key: JSON?, seq: Int = 1, room: String = "tea") -> [String: JSON] {
    var members: [String: JSON] = ["room": .string(room), "seq": .number("\(seq)")]
    members["key"] = key
    return members
  }

  /// The reactions to the first message of a page.
  private func reactions(_ page: JSON?) -> JSON? {
    guard case .array(let messages) = page?["messages"] else { return nil }
    return messages.first?["reactions"]
  }

  private func refusal(_ test: TestRelay, _ members: [String: JSON], by caller: Caller? = nil) async -> RequestError? {
    let caller = caller ?? .backend(acting: UserID(unchecked: "ann"))
    do {
      _ = try await test.perform(React.self, by: caller, members)
      return nil
    } catch {
      return RequestError(known: error)
    }
  }

  @Test func `a reaction is in the reply and in the history`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      let list = JSON.array([
        .object(["key": .string("👍"), "count": .number("1"), "users": .array([.string("ann")])])
      ])
      let added = try await test.perform(React.self, as: "ann", reaction(.string("👍")))
      #expect(added.body?["reactions"] == list)
      #expect(added.body?["change"] == .number("1"))
      let again = try await test.perform(React.self, as: "ann", reaction(.string("👍")))
      #expect(again.body?["reactions"] == list && again.body?["change"] == nil)
      let page = try await test.perform(ReadHistory.self, as: "ann", ["room": .string("tea")])
      #expect(reactions(page.body) == list)
      let removed = try await test.perform(Unreact.self, as: "ann", reaction(.string("👍")))
      #expect(removed.body?["reactions"] == .array([]) && removed.body?["change"] == .number("2"))
      let last = try await test.perform(ReadHistory.self, as: "ann", ["room": .string("tea")])
      #expect(last.body?["messages"] != nil && reactions(last.body) == nil)
    }
  }

  @Test func `the reactions of others need the right to the history`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      _ = try await test.perform(React.self, as: "ann", reaction(.string("👍")))
      let name = UserID(unchecked: "ann")
      let cases: [(Rights, Bool)] = [([.send, .history], true), (.send, false), ([.join, .send], false)]
      for (rights, isReadable) in cases {
        let grant = Grant(match: try #require(Glob("*")), can: rights)
        let ann = Caller.user(
          Identity(user: User(id: name), permissions: Permissions(grants: [grant], watch: [], account: [])))
        for command: any Command.Type in [React.self, Unreact.self] {
          let reply = try await test.perform(command, by: ann, reaction(.string("🎉")))
          #expect(reply.body?["seq"] == .number("1"))
          #expect((reply.body?["reactions"] != nil) == isReadable, "\(command) \(rights.names)")
        }
      }
    }
  }

  @Test func `a wrong request names the field and the bound`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      let long = String(repeating: "x", count: 65)
      for key in [nil, .string(""), .string(long), .string("a\u{1}"), .number("7")] as [JSON?] {
        let error = await refusal(test, reaction(key))
        #expect(error?.code == .badRequest && error?.at == "/key", "\(String(describing: key))")
      }
      #expect(await refusal(test, reaction(.string("x"), seq: 9))?.code == .notFound)
      for number in 1...20 { #expect(await refusal(test, reaction(.string("\(number)"))) == nil) }
      let error = await refusal(test, reaction(.string("x")))
      #expect(error?.code == .tooLarge && error?.message.contains("20") == true)
      let nobody = await refusal(test, reaction(.string("x")), by: .backend(acting: nil))
      #expect(nobody?.code == .badRequest && nobody?.at == "/from")
    }
  }

  @Test func `a reaction needs the right to send`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      let grant = Grant(match: try #require(Glob("tea")), can: [.join, .history])
      let reader = Caller.user(
        Identity(
          user: User(id: UserID(unchecked: "ann")),
          permissions: Permissions(grants: [grant], watch: [], account: .all), expires: nil))
      #expect(await refusal(test, reaction(.string("x")), by: reader)?.code == .forbidden)
    }
  }
}
