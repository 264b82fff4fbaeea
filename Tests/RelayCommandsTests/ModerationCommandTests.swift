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
}
