// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests
@testable import RelayState

/// The quotes in the replies of `PostMessage` and `ReadHistory`, without a transport.
@Suite struct QuoteCommandTests {
  /// Ann has sent a message in `tea`, and in `safe`, whose messages have no previews.
  private func run(_ body: (TestRelay) async throws -> Void) async throws {
    let patterns = try RoomPatterns([Fields(["match": .string("safe"), "preview": .string("none")])])
    try await TestRelay.run({ $0.rooms = patterns }) { test async throws in
      for room in ["tea", "safe"] {
        _ = try await test.perform(AddMember.self, as: "ann", ["room": .string(room), "user": .string("ann")])
        _ = try await post(test, in: room, Array(#"{"text":"Kettle is on"}"#.utf8))
      }
      try await body(test)
    }
  }

  private func post(
    _ test: TestRelay, in room: String = "tea", by caller: Caller = .backend(acting: UserID(unchecked: "ann")),
    _ body: [UInt8] = Array("1".utf8), replyTo: Int64? = nil
  ) async throws -> JSON? {
    var members: [String: JSON] = ["room": .string(room), "body": .raw(body)]
    members["replyTo"] = replyTo.map { .number("\($0)") }
    return try await test.perform(PostMessage.self, by: caller, members).body
  }

  /// The messages of the history, in their order.
  private func history(_ test: TestRelay, of room: String = "tea") async throws -> [JSON] {
    let page = try await test.perform(ReadHistory.self, as: "ann", ["room": .string(room)])
    guard case .array(let messages) = page.body?["messages"] else { return [] }
    return messages
  }

  private func quote(of seq: Int = 1, _ preview: String?, isDeleted: Bool = false) -> JSON {
    var members: [String: JSON] = ["seq": .number("\(seq)"), "from": .string("ann")]
    members["preview"] = preview.map(JSON.string)
    if isDeleted { members["deleted"] = .bool(true) }
    return .object(members)
  }

  @Test func `the reply to the sender and the history have the quote`() async throws {
    try await run { test async throws in
      #expect(try await post(test, replyTo: 1)?["quote"] == quote("Kettle is on"))
      #expect(try await post(test)?["quote"] == nil)
      #expect(try await history(test).map { $0["quote"] } == [nil, quote("Kettle is on"), nil])
      _ = try await test.perform(
        EditMessage.self, as: "ann", ["room": .string("tea"), "seq": .number("1"), "body": .raw(Array(#""Off""#.utf8))])
      #expect(try await history(test).map { $0["quote"] } == [nil, quote("Off"), nil])
      _ = try await test.perform(DeleteMessage.self, as: "ann", ["room": .string("tea"), "seq": .number("1")])
      #expect(try await post(test, replyTo: 1)?["quote"] == quote(nil, isDeleted: true))
      #expect(try await history(test)[1]["quote"] == quote(nil, isDeleted: true))
    }
  }

  @Test func `an erasure forgets the frames of the rooms that quote the user, and of no other`() async throws {
    try await run { test async throws in
      let bob = Caller.backend(acting: UserID(unchecked: "bob"))
      for room in ["tea", "jam"] {
        _ = try await test.perform(AddMember.self, as: "bob", ["room": .string(room), "user": .string("bob")])
      }
      _ = try await post(test, by: bob, replyTo: 1)
      _ = try await post(test, in: "jam", by: bob)
      _ = try await post(test, in: "jam", by: bob, replyTo: 1)
      for room in ["tea", "jam"] { #expect(await test.core.keepsFrames(of: room, after: 1)) }
      _ = try await test.perform(
        EraseUser.self, by: .backend(acting: nil), ["user": .string("ann"), "messages": .string("anonymize")])
      #expect(await !test.core.keepsFrames(of: "tea", after: 1))
      #expect(await test.core.keepsFrames(of: "jam", after: 1))
    }
  }

  @Test func `a room without previews has quotes without texts`() async throws {
    try await run { test async throws in
      #expect(try await post(test, in: "safe", replyTo: 1)?["quote"] == quote(nil))
      #expect(try await history(test, of: "safe").last?["quote"] == quote(nil))
    }
  }

  @Test func `a sender without the right to read old messages gets no quote`() async throws {
    try await run { test async throws in
      let grant = Grant(match: try #require(Glob("tea")), can: [.join, .send])
      let sender = Caller.user(
        Identity(
          user: User(id: UserID(unchecked: "ann")),
          permissions: Permissions(grants: [grant], watch: [], account: .all), expires: nil))
      let sent = try await post(test, by: sender, replyTo: 1)
      #expect(sent?["seq"] != nil && sent?["quote"] == nil)
      #expect(try await history(test).last?["quote"] == quote("Kettle is on"))
    }
  }
}

extension Core {
  fileprivate func keepsFrames(of room: String, after seq: Int64) -> Bool {
    hub.room(RoomID(unchecked: room)).map { hub.tail(of: $0, after: seq) != nil } ?? false
  }
}
