// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayIdentity
import RelayJSON
import RelayProtocol
import Testing

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayRequests

/// The decisions of the audit log, as values.
@Suite struct AuditPolicyTests {
  private static func operation(_ name: String) throws -> RelayRequests.Operation {
    try #require(RelayRequests.Operation.all.first { $0.name == name })
  }

  @Test(
    arguments: [
      // A change waits for its entry.
      ([], "removeMember", nil, .beforeAnswer), ([], "eraseUser", nil, .beforeAnswer),
      // An operator needs these while the store waits for the log of the cluster.
      ([], "stepDown", nil, .late), ([], "publishSnapshot", nil, .late), ([], "stepDown", .forbidden, .refused),
      // A frequent change and a read become entries if the configuration names them, and wait for nothing.
      ([], "sendMessage", nil, .ignored), ([], "listMembers", nil, .ignored),
      (["sendMessage"], "sendMessage", nil, .late), (["write"], "sendMessage", nil, .late),
      (["read"], "listMembers", nil, .late),
      // The export of a user gives away everything about the user.
      ([], "exportUser", nil, .late),
      // The names replace the usual ones.
      (["sendMessage"], "removeMember", nil, .ignored), (["write"], "removeMember", nil, .beforeAnswer),
      (["write"], "exportUser", nil, .ignored),
      // Errors of the operations that become entries, and all requests that the scope or a right forbids.
      ([], "removeMember", .forbidden, .refused), ([], "removeMember", .notFound, .refused),
      ([], "removeMember", .unavailable, .refused),
      ([], "sendMessage", .forbidden, .refused), ([], "listMembers", .forbidden, .refused),
      ([], "sendMessage", .badRequest, .ignored), ([], "listMembers", .notFound, .ignored),
      (["sendMessage"], "sendMessage", .badRequest, .refused), (["sendMessage"], "removeMember", .notFound, .ignored),
      (["sendMessage"], "removeMember", .forbidden, .refused),
    ] as [([String], String, ErrorCode?, AuditPolicy.Decision)])
  func `a request becomes an entry by its operation and its result`(
    operations: [String], name: String, error: ErrorCode?, decision: AuditPolicy.Decision
  ) throws {
    var policy = AuditPolicy()
    policy.operations = operations
    #expect(policy.decide(try Self.operation(name), error) == decision)
    policy.maxEntries = 0
    #expect(policy.decide(try Self.operation(name), error) == .ignored)
  }

  @Test func `every change becomes an entry unless it is frequent`() {
    #expect(AuditPolicy.traffic.isSubset(of: RelayRequests.Operation.groups["write"] ?? []))
    #expect(RelayRequests.Operation.names.contains("exportUser"))
    for operation in RelayRequests.Operation.all where operation.name != "exportUser" {
      let isFrequent = AuditPolicy.traffic.contains(operation.name)
      #expect(AuditPolicy.isUsual(operation) == (!operation.isRead && !isFrequent), "\(operation.name)")
    }
  }

  @Test func `the protocol lists the frequent changes`() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/RelayProtocol/RelayProtocol.docc/Protocol.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let section = try #require(
      text.components(separatedBy: "### Audit log\n").last?.components(separatedBy: "\n## ").first)
    for name in AuditPolicy.traffic { #expect(section.contains("`\(name)`"), "\(name)") }
  }

  private func subject(
    _ members: [String: JSON], acting: String? = nil, arguments: Set<String> = [], key: String? = nil
  ) -> AuditSubject {
    AuditSubject(
      Fields(members), acting: acting.map(UserID.init(unchecked:)), arguments: arguments, idempotencyKey: key)
  }

  @Test func `an entry has the room and all users that a request names`() {
    let members: [String: JSON] = [
      "room": .string("tea"), "user": .string("ann"), "from": .string("bob"), "owner": .string("ann"),
      "members": .array([.string("eve"), .number("1"), .string("not a name"), .string("bob")]),
      "body": .object(["user": .string("mallory")]), "text": .string("secret"),
    ]
    let found = subject(members, acting: "zoe")
    #expect(found.room?.rawValue == "tea")
    #expect(found.users.map(\.rawValue) == ["zoe", "ann", "bob", "eve"])
    #expect(found.target == nil && found.request == nil)
    let wrong = subject(["room": .string("not a name"), "user": .number("1"), "from": .null])
    #expect(wrong.room == nil && wrong.users.isEmpty)
  }

  @Test func `the number of users is bounded`() {
    let names = (0..<1_000).map { JSON.string("user-\($0)") }
    #expect(subject(["users": .array(names), "user": .string("ann")]).users.count == AuditEntry.maxUsers)
  }

  @Test func `a target comes from the path, and is bounded`() {
    let members: [String: JSON] = [
      "seq": .number("7"), "device": .string("phone"), "id": .string("p1"), "token": .string("secret"),
    ]
    #expect(subject(members).target == nil)
    #expect(subject(members, arguments: ["room", "seq"]).target == "7")
    #expect(subject(members, arguments: ["user", "device"]).target == "phone")
    #expect(subject(members, arguments: ["id"]).target == "p1")
    // A token is a secret.
    #expect(subject(members, arguments: ["token"]).target == nil)
    let longest = String(repeating: "x", count: AuditEntry.maxTargetLength)
    #expect(subject(["id": .string(longest)], arguments: ["id"]).target == longest)
    #expect(subject(["id": .string(longest + "x")], arguments: ["id"]).target == nil)
    #expect(subject(["id": .string("a\0b")], arguments: ["id"]).target == nil)
  }

  @Test func `an idempotency key comes from the header or the body, and is bounded`() {
    #expect(subject(["key": .string("body")]).request == "body")
    #expect(subject(["key": .string("body")], key: "header").request == "header")
    // The key of a reaction.
    #expect(subject(["key": .string("+1")], arguments: ["key"]).request == nil)
    let longest = String(repeating: "x", count: IdempotencyKey.maxLength)
    #expect(subject([:], key: longest).request == longest)
    #expect(subject([:], key: longest + "x").request == nil)
    #expect(subject([:], key: "").request == nil)
    #expect(subject(["key": .number("1")]).request == nil)
  }

  @Test func `refused requests have a rate for each key, and an entry counts those without one`() {
    var refusals = AuditedRefusals()
    let start = ContinuousClock.now
    for _ in 0..<AuditedRefusals.rate.burst { #expect(refusals.take("a", now: start) == 0) }
    for _ in 0..<3 { #expect(refusals.take("a", now: start) == nil) }
    #expect(refusals.take("b", now: start) == 0)
    #expect(refusals.take("a", now: start + .seconds(1)) == 3)
    #expect(refusals.take("a", now: start + .seconds(2)) == 0)
    #expect(refusals.take("a", now: start + .seconds(2)) == nil)
    // A key that was removed has its full rate when it is added again.
    refusals.keep(["b"])
    #expect(refusals.take("a", now: start + .seconds(2)) == 0)
  }

  @Test func `a request in progress knows the users who are erased meanwhile`() {
    let (ann, bob) = (UserID(unchecked: "ann"), UserID(unchecked: "bob"))
    var requests = AuditedRequests()
    let first = requests.begin(erased: [])
    requests.noteErasure(of: ann)
    let second = requests.begin(erased: [bob])
    let ended = [requests.end(first), requests.end(second), requests.end(second)]
    #expect(ended == [[ann], [bob], []])
    #expect(requests.count == 0)
  }
}
