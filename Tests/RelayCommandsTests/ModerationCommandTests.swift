// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayRequests

/// The commands of moderation, without a transport.
@Suite struct ModerationCommandTests {
  private static let end = Timestamp(rawValue: 4_000_000_000_000)

  /// Ann is the owner of a group with Bob, and Bob has sent a message.
  private func prepare(_ test: TestRelay) async throws {
    let group: [String: JSON] = ["room": .string("tea"), "members": .array([.string("bob")])]
    #expect(try await test.perform(CreateRoom.self, as: "ann", group).status == 201)
    #expect(try await post(test, by: "bob") == 201)
  }

  private func post(_ test: TestRelay, by user: String) async throws -> Int {
    try await test.perform(
      PostMessage.self, as: user, ["room": .string("tea"), "body": .raw(Array("1".utf8))]
    ).status
  }

  private func restriction(_ user: String = "bob", until: Int64? = end.rawValue) -> [String: JSON] {
    var members: [String: JSON] = ["room": .string("tea"), "user": .string(user)]
    members["until"] = until.map { .number("\($0)") }
    return members
  }

  private func refusal(
    _ test: TestRelay, _ command: any Command.Type, by caller: Caller, _ members: [String: JSON]
  ) async -> RequestError? {
    do {
      _ = try await test.perform(command, by: caller, members)
      return nil
    } catch {
      return RequestError(known: error)
    }
  }

  @Test func `a wrong restriction names the field`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      let ann = Caller.backend(acting: UserID(unchecked: "ann"))
      for (members, field) in [
        (restriction("ann"), "/user"), (restriction(until: 1), "/until"), (restriction(until: -1), "/until"),
        (["room": .string("tea")], "/user"),
      ] as [([String: JSON], String)] {
        let error = await refusal(test, RestrictMember.self, by: ann, members)
        #expect(error?.code == .badRequest && error?.at?.hasSuffix(field) == true)
      }
      #expect(await refusal(test, RestrictMember.self, by: ann, restriction("cleo"))?.code == .notFound)
    }
  }

  @Test func `a backend sends for a restricted member`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      let reply = try await test.perform(RestrictMember.self, by: .backend(acting: nil), restriction())
      #expect(reply.body?["until"] == .number("\(Self.end.rawValue)"))
      #expect(try await post(test, by: "bob") == 201)
      let ended = try await test.perform(RestrictMember.self, by: .backend(acting: nil), restriction(until: nil))
      #expect(ended.body?["until"] == nil && ended.body?["user"] == .string("bob"))
    }
  }

  @Test func `an error of a restriction has its end`() {
    let error = RequestError(.restricted, "", until: Self.end)
    #expect(error.status == 403 && !error.code.isTemporary)
    let frame = JSON(reading: Replies.error(nil, error))
    #expect(frame?["until"] == .number("\(Self.end.rawValue)"))
    #expect(JSON(reading: Replies.error(nil, RequestError(.restricted, "")))?["until"] == nil)
  }

  @Test func `a report has bounds, and its errors name the fields`() async throws {
    try await TestRelay.run { test async throws in
      try await prepare(test)
      func report(_ reason: JSON?) -> [String: JSON] {
        var members: [String: JSON] = ["room": .string("tea"), "seq": .number("1")]
        members["reason"] = reason
        return members
      }
      let ann = Caller.backend(acting: UserID(unchecked: "ann"))
      let long = String(repeating: "x", count: MessageReport.maxReasonLength + 1)
      for reason in [nil, .string(""), .string(" \n"), .string(long), .number("1")] as [JSON?] {
        let error = await refusal(test, ReportMessage.self, by: ann, report(reason))
        #expect(error?.code == .badRequest && error?.at?.hasSuffix("/reason") == true)
      }
      let reason = JSON.string(String(long.dropLast()))
      #expect(try await test.perform(ReportMessage.self, by: ann, report(reason)).status == 201)
      #expect(try await test.perform(ReportMessage.self, by: ann, report(reason)).status == 200)
      let bob = Caller.backend(acting: UserID(unchecked: "bob"))
      #expect(await refusal(test, ReportMessage.self, by: bob, report(reason))?.code == .conflict)
      for (limit, code) in [("0", ErrorCode.badRequest), ("101", .badRequest), ("100", nil)] as [(String, ErrorCode?)] {
        let members: [String: JSON] = ["room": .string("tea"), "limit": .number(limit)]
        #expect(await refusal(test, ListReports.self, by: ann, members)?.code == code)
      }
    }
  }

  // MARK: Ranks and reports

  /// A group with its owner Ann, its moderator Bob, and its member Eve. The callers have tokens.
  private func gather(_ test: TestRelay) async throws -> (ann: Caller, bob: Caller, eve: Caller) {
    let members = JSON.array([.string("bob"), .string("eve")])
    #expect(
      try await test.perform(CreateRoom.self, as: "ann", ["room": .string("tea"), "members": members]).status == 201)
    let role: [String: JSON] = ["room": .string("tea"), "user": .string("bob"), "role": .string("moderator")]
    _ = try await test.perform(SetRole.self, as: "ann", role)
    let permissions = Permissions(grants: nil, watch: [], account: .all)
    func user(_ name: String) -> Caller {
      .user(Identity(user: User(id: UserID(unchecked: name)), permissions: permissions, expires: nil))
    }
    return (user("ann"), user("bob"), user("eve"))
  }

  private let message: [String: JSON] = ["room": .string("tea"), "body": .raw(Array("1".utf8))]

  /// Sends a message, and returns its number.
  private func send(_ test: TestRelay, by caller: Caller) async throws -> JSON {
    try #require(try await test.perform(PostMessage.self, by: caller, message).body?["seq"])
  }

  private func report(_ seq: JSON, reason: String = "spam") -> [String: JSON] {
    ["room": .string("tea"), "seq": seq, "reason": .string(reason)]
  }

  @Test func `the ranks of a restriction are those of a removal`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob, eve) = try await gather(test)
      let rows: [(Caller, String, until: Int64?, ErrorCode?)] = [
        (bob, "ann", Self.end.rawValue, .forbidden), (bob, "bob", Self.end.rawValue, .badRequest),
        (eve, "bob", Self.end.rawValue, .forbidden), (bob, "stranger", Self.end.rawValue, .notFound),
        (bob, "eve", 1, .badRequest), (ann, "bob", Self.end.rawValue, nil),
        // A restricted moderator moderates, but cannot end the own restriction.
        (bob, "bob", nil, .badRequest), (bob, "eve", Self.end.rawValue, nil),
      ]
      for (caller, user, until, code) in rows {
        let error = await refusal(test, RestrictMember.self, by: caller, restriction(user, until: until))
        #expect(error?.code == code, "\(caller) restricts \(user) until \(until.map(String.init) ?? "no time")")
      }
      #expect(await refusal(test, PostMessage.self, by: bob, message)?.code == .restricted)
      let backend = try await test.perform(RestrictMember.self, by: .backend(acting: nil), restriction("ann"))
      #expect(backend.body == .object(restriction("ann")))
      #expect(await refusal(test, PostMessage.self, by: ann, message)?.until == Self.end)
      // A backend still sends for everybody.
      #expect(try await post(test, by: "eve") == 201)
    }
  }

  @Test func `a member reports only messages of others in the history`() async throws {
    try await TestRelay.run { test async throws in
      let (_, _, eve) = try await gather(test)
      let seq = try await send(test, by: eve)
      #expect(await refusal(test, ReportMessage.self, by: eve, report(seq))?.code == .conflict)
      #expect(await refusal(test, ReportMessage.self, by: eve, report(.number("2")))?.code == .notFound)
    }
  }

  @Test func `a moderator does not judge reports of the own messages`() async throws {
    try await TestRelay.run { test async throws in
      let (ann, bob, eve) = try await gather(test)
      let seqs = try await [send(test, by: bob), send(test, by: ann)]
      var ids: [JSON] = []
      for seq in seqs {
        ids.append(try #require(try await test.perform(ReportMessage.self, by: eve, report(seq)).body?["report"]))
      }
      func reports(_ caller: Caller) async throws -> [JSON] {
        let page = try await test.perform(ListReports.self, by: caller, ["room": .string("tea")])
        return if case .array(let reports)? = page.body?["reports"] { reports } else { [] }
      }
      func end(_ id: JSON, _ state: String) -> [String: JSON] {
        ["room": .string("tea"), "report": id, "state": .string(state)]
      }
      #expect(try await reports(bob).map { $0["report"] } == [ids[1]])
      #expect(try await reports(ann).map { $0["report"] } == [ids[0]])
      #expect(await refusal(test, EndReport.self, by: bob, end(ids[0], "dismissed"))?.code == .notFound)
      _ = try await test.perform(EndReport.self, by: ann, end(ids[0], "resolved"))
      // The reporter learns the state, and not the name of the moderator.
      let again = try await test.perform(ReportMessage.self, by: eve, report(seqs[0])).body
      #expect(again?["report"] == ids[0] && again?["state"] == .string("resolved"))
      #expect(again?["duplicate"] == .bool(true) && again?["by"] == nil)
      // A backend sees and ends all.
      let backend = Caller.backend(acting: nil)
      let listed = try await reports(backend)
      #expect(listed.map { $0["report"] } == [ids[1], ids[0]] && listed.map { $0["by"] } == [nil, .string("ann")])
      let ended = try await test.perform(EndReport.self, by: backend, end(ids[1], "dismissed"))
      #expect(ended.body?["state"] == .string("dismissed"))
    }
  }

  @Test func `a user reports 50 messages in a day`() async throws {
    try await TestRelay.run { test async throws in
      let (_, bob, eve) = try await gather(test)
      for _ in 0..<50 {
        let seq = try await send(test, by: .backend(acting: UserID(unchecked: "ann")))
        #expect(try await test.perform(ReportMessage.self, by: eve, report(seq)).status == 201)
      }
      let seq = try await send(test, by: .backend(acting: UserID(unchecked: "ann")))
      let error = try #require(await refusal(test, ReportMessage.self, by: eve, report(seq)))
      #expect(error.code == .rateLimited && error.code.isTemporary)
      let wait = try #require(error.retryAfter)
      #expect(wait > .seconds(86_000) && wait <= .seconds(86_400))
      #expect(try await test.perform(ReportMessage.self, by: bob, report(seq)).status == 201)
    }
  }
}
