// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayHub
import RelayJSON
import RelayProtocol
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayIdentity
@testable import RelayRequests
@testable import RelayState
@testable import RelayStore

/// The uses of rooms that requests declare: the protocol has a table of them, and the relay permits exactly these.
@Suite struct RoomUseTests {
  // MARK: The declarations

  @Test func `each request of a user declares its uses of a room`() {
    for command in Commands.all {
      let declaration = command.declaration
      guard declaration.callers != .backend else {
        #expect(declaration.room == nil && declaration.furtherUses.isEmpty, "\(command)")
        continue
      }
      #expect(declaration.room != nil, "\(command) must declare its use of a room, or .noRoom")
    }
    for row in Row.all where row.use.scope != .noRoom {
      #expect(!row.use.subject.isEmpty, "\(row.request)")
      // Nobody can do anything without a membership and without a right.
      #expect(!row.use.permits([], isMember: false), "\(row.request)")
    }
    let rooms = Commands.all.filter { $0.declaration.route?.path.contains("{room}") == true }
    for command in rooms { #expect(command.declaration.room?.scope != .noRoom, "\(command)") }
  }

  @Test func `a member without a right only ends the own membership`() {
    let permitted = Row.all.filter { $0.use.scope != .noRoom && $0.use.permits([], isMember: true) }
    #expect(permitted.map(\.request) == ["`leave`", "`remove`, `DELETE /v1/rooms/{room}/members/{user}`"])
  }

  @Test func `a report key needs no right to end the ringing of its phone and for a response`() {
    let reporters = Row.all.filter { $0.callers.includeReporters && $0.use.scope != .noRoom }
    let needed = reporters.map { "\($0.command) \($0.use.reportKeyRights.names)" }
    #expect(
      needed == [
        #"answerCall ["join"]"#, "declineCall []", "hangUpCall []", #"getCall ["history"]"#, "respond []",
        #"respond ["join", "send"]"#,
      ])
  }

  // MARK: The documents

  @Test func `the protocol has the table of all uses`() throws {
    let table = """
      | request | effect | data | it needs | no right | membership only | one right alone | report key |
      |---|---|---|---|---|---|---|---|
      \(Row.all.filter { $0.use.scope != .noRoom }.map(\.text).joined(separator: "\n"))
      """
    let section = try Self.section("Requests about rooms")
    #expect(section.contains("\n\(table)\n"), "replace the table by:\n\(table)")
  }

  @Test func `the protocol has the table of the places of stored texts`() throws {
    let rows = StoredText.allCases.map { text in
      let rights = text.rights.names.map { "`\($0)`" }.joined(separator: ", ")
      let need =
        text.callers == .backend ? "API key" : text.isOfNewestToken ? "\(rights) of the newest token" : rights
      return "| \(text.place) | \(need) | \(text.includesLive ? "yes" : "–") |"
    }
    let table = """
      | place | it needs | live messages without the right |
      |---|---|---|
      \(rows.joined(separator: "\n"))
      """
    let section = try Self.section("Stored texts")
    #expect(section.contains("\n\(table)\n"), "replace the table by:\n\(table)")
  }

  private static func section(_ title: String) throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/RelayProtocol/RelayProtocol.docc/Protocol.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let parts = text.components(separatedBy: "#### \(title)\n")
    try #require(parts.count == 2)
    return try #require(parts[1].components(separatedBy: "\n###").first)
  }

  // MARK: The relay

  @Test func `the relay permits exactly the declared uses`() async throws {
    for (row, command) in Row.routes {
      try await run { scene async throws in
        guard let fields = scene.fields(row) else { return }
        let name = "\(row.command) \(row.index)"
        // Refused requests change nothing, so that they come first.
        for given in [Rights()] + Rights.named.map(\.right) {
          for isMember in [true, false] where !row.use.permits(given, isMember: isMember) {
            // A user who is no member may end the own membership again: nothing changes.
            if row.command == RemoveMember.operation, row.index == 0 { continue }
            let user = isMember ? "ann" : "eve"
            #expect(try await !scene.permits(command, fields, as: user, with: given), "\(name) \(user) \(given.names)")
          }
        }
        let user = row.use.role == .owner ? "own" : "ann"
        #expect(try await scene.permits(command, fields, as: user, with: row.use.needed), "\(name) \(user)")
      }
    }
  }

  @Test func `the relay permits a report key exactly the declared uses`() async throws {
    for (row, command) in Row.routes where row.callers.includeReporters {
      for given in [Rights()] + Rights.named.map(\.right) {
        try await run { scene async throws in
          guard let fields = scene.fields(row) else { return }
          let isPermitted = try await scene.permits(command, fields, reporting: "ann", with: given)
          #expect(isPermitted == given.isSuperset(of: row.use.reportKeyRights), "\(row.command) \(given.names)")
        }
      }
    }
  }

  @Test func `each use of a route has a request in these tests`() async throws {
    let others: Set = [
      "respond 0", "respond 1",  // need a push
      "listPresence 0",  // only a session names a room
      "listRooms 1", "react 1", "unreact 1", "sendMessage 4",  // read a stored text
      "acceptInvitation 0", "declineInvitation 0", "listInvitations 0",  // need an invitation
    ]
    try await run { scene async throws in
      let missing = Row.routes.map { $0.row }.filter { scene.fields($0) == nil }
      #expect(Set(missing.map { "\($0.command) \($0.index)" }) == others)
    }
  }

  private func run(_ body: (Scene) async throws -> Void) async throws {
    try await TestRelay.run {
      // In open mode all users see each other.
      let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      $0.authentication = .tokens(TokenVerifier(keys: [], now: Store.timeOfDay, log: log))
    } _: { test async throws in
      try await body(Scene(test))
    }
  }
}

// MARK: Rows

/// A use of a room by a request.
private struct Row {
  /// The frame and the route.
  let request: String
  /// The operation, or the type of a frame that the hub handles.
  let command: String
  let callers: Declaration.Callers
  let use: RoomUse
  /// The index of the use in the request.
  let index: Int
  let isRead: Bool

  static let all: [Row] = {
    var rows: [Row] = []
    func add(_ uses: [RoomUse], _ request: String, _ command: String, _ callers: Declaration.Callers, isRead: Bool) {
      for (index, use) in uses.enumerated() {
        rows.append(
          Row(
            request: request, command: command, callers: callers, use: use, index: index, isRead: use.isRead ?? isRead))
      }
    }
    for command in Commands.all where command.declaration.callers != .backend {
      let declaration = command.declaration
      var names: [String] = []
      if let frame = declaration.frame { names.append("`\(frame)`") }
      if let route = declaration.route { names.append("`\(route.method) \(route.path)`") }
      let uses = (declaration.room.map { [$0] } ?? []) + declaration.furtherUses
      add(
        uses, names.joined(separator: ", "), command.operation, declaration.callers, isRead: declaration.isRead)
    }
    for frame in Commands.hubFrames { add(frame.uses, "`\(frame.name)`", frame.name, .users, isRead: false) }
    return rows
  }()

  /// The uses of a room by a request over HTTP, with their commands.
  static let routes: [(row: Row, command: any Command.Type)] = all.compactMap { row in
    let command = Commands.all.first { $0.operation == row.command && $0.declaration.route != nil }
    guard let command, row.use.scope != .noRoom else { return nil }
    return (row, command)
  }

  /// The row of the table.
  var text: String {
    var needed =
      switch use.scope {
      case .any: [String]()
      case .invited: ["invitation"]
      case .joined, .member, .found, .noRoom: ["membership"]
      }
    needed += use.rights.names.map { "`\($0)`" }
    if let role = use.role { needed.append(role.name) }
    let single = Rights.named.filter { use.permits($0.right, isMember: true) }.map { "`\($0.name)`" }
    let isPermitted = use.permits([], isMember: true)
    let alone = isPermitted ? "any" : single.isEmpty ? "–" : single.joined(separator: ", ")
    let key = use.reportKeyRights.names.map { "`\($0)`" }.joined(separator: ", ")
    let cells = [
      request, isRead ? "reads" : "changes", use.subject, needed.joined(separator: ", "),
      use.permits([], isMember: false) ? "yes" : "–", isPermitted ? "yes" : "–", alone,
      !callers.includeReporters ? "–" : key.isEmpty ? "yes" : key,
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }
}

extension RoomUse {
  /// The rights that a plain member of a group needs.
  fileprivate var needed: Rights { role == .moderator ? rights.union(.moderate) : rights }

  /// True if a user with only these rights, and without a role in the room or an invitation, may do this.
  fileprivate func permits(_ given: Rights, isMember: Bool) -> Bool {
    guard isMember || scope == .any, scope != .invited else { return false }
    return role != .owner && given.isSuperset(of: needed)
  }
}

// MARK: Requests

/// A relay with a group `g` and a direct room. Ann and bob are members of the group, and own is its owner. Ann and own
/// have the direct room. Eve is a member of nothing.
private struct Scene {
  let test: TestRelay
  let direct: JSON
  /// The message of a call that rings.
  let call: JSON

  init(_ test: TestRelay) async throws {
    self.test = test
    let group: [String: JSON] = [
      "room": .string("g"), "owner": .string("own"), "members": .array([.string("ann"), .string("bob")]),
    ]
    _ = try await test.perform(CreateRoom.self, by: .backend(acting: nil), group)
    let pair: [String: JSON] = ["user": .string("ann"), "other": .string("own")]
    direct = try #require(try await test.perform(OpenDirectRoom.self, as: "ann", pair).body?["room"])
    for (room, sender) in [(JSON.string("g"), "ann"), (.string("g"), "bob"), (direct, "ann")] {
      let message: [String: JSON] = ["room": room, "body": .raw(Array("1".utf8))]
      _ = try await test.perform(PostMessage.self, as: sender, message)
    }
    let report: [String: JSON] = ["room": .string("g"), "seq": .number("1"), "reason": .string("spam")]
    _ = try await test.perform(ReportMessage.self, as: "bob", report)
    call = try #require(try await test.perform(Ring.self, as: "bob", ["room": .string("g")]).body?["seq"])
  }

  func permits(
    _ command: any Command.Type, _ fields: [String: JSON], as user: String, with rights: Rights
  ) async throws -> Bool {
    let id = UserID(unchecked: user)
    try await test.core.retained(id)
    let permissions = Permissions(grants: [Grant(match: try #require(Glob("*")), can: rights)], watch: [], account: [])
    return try await permits(command, fields, .user(Identity(user: User(id: id), permissions: permissions)))
  }

  func permits(
    _ command: any Command.Type, _ fields: [String: JSON], reporting user: String, with rights: Rights
  ) async throws -> Bool {
    let id = UserID(unchecked: user)
    try await test.core.retained(id)
    let grants = [Grant(match: try #require(Glob("*")), can: rights)]
    let owner = ReportKeyOwner(user: id, device: .default, grants: grants.json)
    return try await permits(command, fields, .reporter(owner))
  }

  private func permits(
    _ command: any Command.Type, _ fields: [String: JSON], _ caller: Caller
  ) async throws -> Bool {
    do {
      let reply = try await test.perform(command, by: caller, fields)
      // A list omits what its reader may not see.
      guard command == ListRooms.self else { return true }
      guard case .array(let rooms)? = reply.body?["rooms"] else { return false }
      return !rooms.isEmpty
    } catch {
      guard let error = RequestError(known: error) else { throw error }
      return error.code != .forbidden && error.code != .notJoined
    }
  }

  /// The request for a use. Is `nil` for a use that these tests do not show.
  func fields(_ row: Row) -> [String: JSON]? {
    switch (row.command, row.index) {
    case ("createRoom", 0): ["room": .string("new")]
    case ("openDirectRoom", 0): ["user": .string("me"), "other": .string("zoe")]
    case ("openDirectRoom", 1): ["user": .string("me"), "other": .string("own")]
    case ("updateRoom", 0): ["room": direct, "metadata": .object([:])]
    case ("updateRoom", 1): group(["title": .string("Tea")])
    case ("addMember", 0), ("removeMember", 0): group(["user": .string("me")])
    case ("addMember", 1): ["room": .string("new"), "user": .string("me")]
    case ("addMember", 2): group(["user": .string("zoe")])
    case ("removeMember", 1): group(["user": .string("bob")])
    case ("setRole", 0): group(["user": .string("bob"), "role": .string("moderator")])
    case ("listRooms", 0): ["user": .string("me")]
    case ("restrictMember", 0): group(["user": .string("bob"), "until": .number("4000000000000")])
    case ("reportMessage", 0): message(2, ["reason": .string("spam")])
    case ("resolveReport", 0): group(["report": .number("1"), "state": .string("resolved")])
    case ("sendMessage", 0): body()
    case ("sendMessage", 1): body(["push": .object(["title": .string("Tea")])])
    case ("sendMessage", 2): body(["push": .object(["kind": .string("call")])])
    case ("sendMessage", 3): body(["mentions": .array([.string("*")])])
    case ("editMessage", 0): message(1, body())
    case ("markRead", 0), ("deleteMessage", 0), ("notifyAnyway", 0), ("pinMessage", 1), ("unpinMessage", 1): message(1)
    case ("deleteMessage", 1): message(2)
    case ("react", 0), ("unreact", 0): message(1, ["key": .string("k")])
    case ("pinMessage", 0), ("unpinMessage", 0): ["room": direct, "seq": .number("1")]
    case ("answerCall", 0), ("declineCall", 0), ("hangUpCall", 0), ("getCall", 0): group(["seq": call])
    case ("listPresence", 1): ["users": .array([.string("own")])]
    case ("getPresence", 0): ["user": .string("own")]
    case ("getRoom", 0), ("deleteRoom", 0), ("listMembers", 0), ("listReports", 0), ("listMessages", 0): group()
    case ("listPins", 0), ("ring", 0), ("listCalls", 0): group()
    default: nil
    }
  }

  private func group(_ others: [String: JSON] = [:]) -> [String: JSON] {
    others.merging(["room": .string("g")]) { $1 }
  }

  private func message(_ seq: Int, _ others: [String: JSON] = [:]) -> [String: JSON] {
    group(others.merging(["seq": .number("\(seq)")]) { $1 })
  }

  private func body(_ others: [String: JSON] = [:]) -> [String: JSON] {
    group(others.merging(["body": .raw(Array("1".utf8))]) { $1 })
  }
}

extension Core {
  fileprivate func retained(_ user: UserID) async throws { _ = try await relay.people.retain(user, on: self) }
}
