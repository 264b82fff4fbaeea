// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

private let pseudonym = UserID(unchecked: "erased-1")
private let carol = User(id: UserID(unchecked: "carol"))
private let tea = RoomID(unchecked: "tea")

/// The erasure of users in slices.
@Suite struct ErasureTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  /// Performs all slices, and returns them.
  private func erase(_ messages: MessageErasure) async throws -> [ErasedSlice] {
    _ = try await test.write { try $0.erasures.begin("e", of: alice.id, as: pseudonym, messages) }
    var slices: [ErasedSlice] = []
    while slices.last?.isLast != true {
      slices.append(try await test.write { try $0.erasures.perform("e") })
      try #require(slices.count < 1_000)
    }
    return slices
  }

  private func count(_ sql: String) async throws -> Int {
    try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
  }

  /// Alice sends 50 messages in `room`, and Bob one that mentions Alice.
  private func send() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for number in 0..<50 { _ = try transaction.messages.append(draft("text \(number)")) }
      var mention = draft("of Bob", from: bob)
      mention.mentions = [alice.id, UserID(unchecked: "alice2")]
      _ = try transaction.messages.append(mention)
    }
  }

  @Test func `deleted messages lose their contents in slices, and others only the name`() async throws {
    try await send()
    let slices = try await erase(.delete)
    let deleted = slices.flatMap(\.deleted)
    #expect(deleted.map(\.seq) == Array(1...50) && Set(deleted.map(\.edited.change)).count == 50)
    #expect(slices.allSatisfy { $0.deleted.count <= ErasureWriter.maxChanged })
    #expect(slices.count { !$0.deleted.isEmpty } >= 3)
    #expect(slices.flatMap(\.anonymized) == [room])
    #expect(try await count("messages WHERE NOT is_deleted") == 1)
    let kept = try await test.read { try $0.messages.message(room, 51) }
    #expect(kept?.from == bob.id && kept?.mentions == [pseudonym, UserID(unchecked: "alice2")])
    let record = try await test.read { try $0.erasures.erasure("e") }
    #expect(record?.changed == 51 && record?.rooms == 1 && record?.finished == nil)
  }

  @Test func `anonymous messages keep their bodies`() async throws {
    try await send()
    let slices = try await erase(.anonymize)
    #expect(slices.flatMap(\.deleted).isEmpty)
    let first = try await test.read { try $0.messages.message(room, 1) }
    #expect(first?.from == pseudonym && first?.body == Array(#""text 0""#.utf8))
    #expect(try await count("users WHERE name = 'alice' OR display_name = 'Alice'") == 0)
  }

  @Test func `reactions and the devices of calls end`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      for number in 0..<30 {
        let seq = try transaction.messages.append(draft("text \(number)", from: bob)).seq
        _ = try transaction.messages.react(room, seq, "+1", by: alice.id)
        _ = try transaction.messages.react(room, seq, "+1", by: bob.id)
      }
      try transaction.db.execute(
        sql: """
          INSERT INTO calls (room, seq, caller, media, began, ring_until, state)
            SELECT messages.room, messages.seq, sender, 'audio', 0, 0, 'ended' FROM messages;
          INSERT INTO call_parties (room, seq, user, state, device)
            SELECT calls.room, seq, users.id, 'answered', 'alices-phone' FROM calls, users WHERE users.name = 'alice';
          """)
    }
    let slices = try await erase(.anonymize)
    let unreacted = slices.flatMap(\.unreacted)
    #expect(unreacted.map(\.message.seq) == Array(1...30))
    #expect(Set(unreacted.compactMap(\.reactions.change)).count == 30)
    #expect(try await count("reactions") == 30)
    #expect(try await count("annotations WHERE instr(value, 'alice')") == 0)
    #expect(try await count("annotations WHERE instr(value, '\"bob\"')") == 30)
    #expect(try await count("call_parties") == 30)
    #expect(try await count("call_parties WHERE device IS NOT NULL") == 0)
  }

  @Test func `nobody has the name until no row has it, and then a new user`() async throws {
    try await send()
    _ = try await test.write { try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete) }
    await #expect(throws: StoreError.beingErased) {
      try await test.write { _ = try $0.rooms.join(alice, room: tea, epoch: "t", now: TestStore.time) }
    }
    await #expect(throws: StoreError.beingErased) { try await test.write { _ = try $0.messages.append(draft("new")) } }
    await #expect(throws: StoreError.beingErased) {
      try await test.write { try $0.people.block(alice.id, by: bob.id) }
    }
    while try await !test.write({ try $0.erasures.perform("e").isLast }) {}
    try await test.write { transaction in
      _ = try transaction.rooms.join(alice, room: tea, epoch: "t", now: TestStore.time)
      try transaction.people.save(UserStatus(text: "new"), of: alice.id)
    }
    #expect(try await test.read { try $0.people.user(alice.id)?.status?.text } == "new")
    #expect(try await test.read { try $0.rooms.isMember(alice.id, of: tea) })
    #expect(try await !test.read { try $0.rooms.isMember(alice.id, of: room) })
  }

  @Test func `a repeated begin returns the erasure in progress`() async throws {
    try await send()
    let first = try await test.write { try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete) }
    let other = UserID(unchecked: "erased-2")
    #expect(try await test.write { try $0.erasures.begin("f", of: alice.id, as: other, .anonymize) } == first)
    #expect(try await test.read { try $0.erasures.names() } == [alice.id])
    #expect(try await test.read { try $0.erasures.next(except: ["e"]) } == nil)
    while try await !test.write({ try $0.erasures.perform("e").isLast }) {}
    #expect(try await test.read { try $0.erasures.names() } == [])
    #expect(try await test.read { try $0.erasures.next(except: []) } == nil)
    #expect(try await test.read { try $0.erasures.erased(limit: 9) } == ["e"])
    #expect(try await test.write { try $0.erasures.begin("f", of: alice.id, as: other, .delete) }.id == "f")
  }

  @Test func `a reaction to a message outside of the history ends with its annotation`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      let seq = try transaction.messages.append(draft("old", from: bob)).seq
      _ = try transaction.messages.react(room, seq, "+1", by: alice.id)
      try transaction.db.execute(sql: "UPDATE rooms SET first = 2 WHERE name = '\(room)'")
      transaction.cache[room] = nil
    }
    let slices = try await erase(.anonymize)
    #expect(slices.flatMap(\.unreacted).isEmpty)
    #expect(try await count("reactions") == 0)
    #expect(try await count("annotations") == 0)
  }

  @Test func `a log that a reader uses is not emptied, and other writes do not wait for long`() async throws {
    try await send()
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: test.folder + "/stillwire.db", configuration: configuration)
    try await reader.writeWithoutTransaction { try $0.execute(sql: "BEGIN; SELECT count(*) FROM messages") }
    await #expect(throws: StoreError.self) { try await test.store.emptyLog() }
    try await reader.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
    try await test.store.emptyLog()
    #expect(try FileManager.default.attributesOfItem(atPath: test.folder + "/stillwire.db-wal")[.size] as? Int == 0)
  }

  @Test func `a group gets another owner`() async throws {
    let made = RoomDraft(room: tea, epoch: "e", details: RoomDetails(join: .invited), creator: alice, members: [bob.id])
    try await test.write { _ = try $0.rooms.make(made) }
    let left = try await erase(.delete).flatMap(\.left)
    #expect(left == [ErasedSlice.Left(room: tea, successor: bob.id)])
    let members = try await test.read { try $0.rooms.snapshot(tea)?.members }
    #expect(members?.map(\.user.id) == [bob.id] && members?.first?.role == .owner)
  }

  @Test func `blocks end in both directions`() async throws {
    try await test.write { transaction in
      try transaction.people.block(bob.id, by: alice.id)
      try transaction.people.block(alice.id, by: bob.id)
      try transaction.people.block(carol.id, by: bob.id)
    }
    #expect(try await erase(.delete).flatMap(\.unblocked) == [bob.id])
    #expect(try await test.read { try $0.people.user(bob.id)?.blocks } == [carol.id])
    #expect(try await count("blocks") == 1)
  }

  @Test func `the preferences of other users lose the name`() async throws {
    var preferences = Preferences()
    preferences.breakThrough = BreakThrough(users: [alice.id, carol.id], mentions: true)
    preferences.onFocus = .hold
    try await test.write { [preferences] in try $0.people.save(preferences, of: bob.id) }
    #expect(try await erase(.delete).flatMap(\.unblocked) == [bob.id])
    preferences.breakThrough = BreakThrough(users: [carol.id], mentions: true)
    #expect(try await test.read { try $0.people.user(bob.id)?.preferences } == preferences)
  }

  @Test func `the profile, the devices and the restrictions end with the begin`() async throws {
    try await test.write { transaction in
      _ = try transaction.needRow(of: alice)
      let phone = Device(id: DeviceID(unchecked: "phone"), platform: .simulator, token: "secret")
      try transaction.devices.register(phone, of: alice.id, now: TestStore.time)
      try transaction.devices.addReportKey(hash: [1, 2], for: phone.id, of: alice.id)
      try transaction.people.save(UserAccess(notBefore: .at(1)), of: alice.id)
      try transaction.people.savePresence(of: alice.id, lastSeen: .at(1), activity: .active)
      _ = try transaction.erasures.begin("e", of: alice.id, as: pseudonym, .delete)
    }
    for table in ["devices", "report_keys", "access"] { #expect(try await count(table) == 0, "\(table)") }
    let rest = try await test.read { try $0.people.user(pseudonym) }
    #expect(rest == UserRecord(User(id: pseudonym)))
    #expect(try await test.read { try $0.erasures.next(except: []) } == "e")
  }

  @Test func `a slice changes at most the rows of its estimate`() async throws {
    let row = try await test.write { transaction in
      try transaction.prepareRoom()
      let (ann, other) = (try transaction.needRow(of: alice), try transaction.needRow(of: bob))
      let numbers = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 700)"
      try transaction.db.execute(
        sql: """
          \(numbers) INSERT INTO rooms (name, epoch) SELECT 'room-' || i, 'e' FROM n;
          INSERT INTO bans (room, user) SELECT id, \(ann) FROM rooms;
          INSERT INTO restrictions (room, user, until) SELECT id, \(ann), 1 FROM rooms;
          \(numbers) INSERT INTO keys SELECT id, \(ann), 'k' || i, 1, 1, 1 FROM rooms, n WHERE name = 'room-7';
          \(numbers) INSERT INTO users (name) SELECT 'user-' || i FROM n;
          INSERT INTO blocks SELECT id, 'alice' FROM users WHERE name LIKE 'user-%';
          \(numbers) INSERT INTO message_reports (room, seq, user, author, reason, time, steady, state)
            SELECT 1, i, \(ann), \(other), 'spam', 1, 1, 'open' FROM n;
          \(numbers) INSERT INTO creations SELECT \(ann), 'k' || i, 1, 1 FROM n;
          """)
      for _ in 0..<700 { try transaction.addAudit("setRole", [alice.id, bob.id]) }
      _ = try transaction.erasures.begin("e", of: alice.id, as: pseudonym, .delete)
      return ann
    }
    var (rows, isLast) = ([Int](), false)
    while !isLast {
      let slice = try await test.write { transaction in
        let before = transaction.db.totalChangesCount
        let isLast = try transaction.erasures.perform("e").isLast
        return (isLast, transaction.db.totalChangesCount - before)
      }
      isLast = slice.0
      rows.append(slice.1)
      try #require(rows.count < 1_000)
    }
    #expect(rows.allSatisfy { $0 <= ErasureWriter.maxRows }, "\(rows)")
    // Three rows of each of 700 rooms, 700 blocks, reports and creations, and three rows of each entry of the audit
    // log.
    #expect(rows.reduce(0, +) >= 9 * 700)
    for table in ["bans", "restrictions", "keys", "message_reports", "creations"] {
      #expect(try await count("\(table) WHERE user = \(row)") == 0, "\(table)")
    }
    #expect(try await count("blocks WHERE other = 'alice'") == 0)
    #expect(try await count("audit_users WHERE user = 'alice'") == 0)
  }

  @Test func `a finished erasure has no name, and is deleted after its lifetime`() async throws {
    _ = try await erase(.anonymize)
    #expect(try await count("erasures WHERE name IS NULL") == 1)
    try await test.store.rewrite()
    try await test.store.emptyLog()
    try await test.write { try $0.erasures.finish(["e"]) }
    let record = try await test.read { try $0.erasures.erasure("e") }
    #expect(record?.finished == TestStore.time)
    #expect(try await test.read { try $0.erasures.next(except: []) } == nil)
    #expect(try await test.write { try $0.erasures.perform("e").isLast })
    let old = (TestStore.time - ErasureWriter.lifetime).rawValue
    try await test.write { transaction in
      try transaction.db.execute(sql: "UPDATE erasures SET finished = \(old)")
      _ = try transaction.erasures.begin("f", of: bob.id, as: UserID(unchecked: "erased-2"), .delete)
    }
    #expect(try await test.read { try $0.erasures.erasure("e") } == nil)
  }

  @Test func `the files have no deleted contents`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      // More than a page, so that pages are freed and cells move.
      for number in 0..<200 {
        let text = "secret-text \(String(repeating: "x", count: number * 40))"
        _ = try transaction.messages.append(draft(text))
        _ = try transaction.messages.append(draft("text \(number)", from: bob))
      }
    }
    _ = try await erase(.delete)
    try await test.store.rewrite()
    try await test.store.emptyLog()
    for file in ["stillwire.db", "stillwire.db-wal"] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: test.folder + "/" + file))
      #expect(bytes.range(of: Data("secret-text".utf8)) == nil, "\(file)")
      #expect(bytes.range(of: Data("Alice".utf8)) == nil, "\(file)")
    }
  }
}

/// The pages of an export.
@Suite struct ExportTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  @Test(arguments: ["p.0.0.0", "s.7.3.17", "j.1.9223372036854775807.0"])
  func `a position has a text`(_ text: String) { #expect(ExportPosition(text)?.text == text) }

  @Test(
    arguments: [
      "", "p", "p.0", "p.0.0", "x.0.0.0", "p.-1.0.0", "p.0.-1.0", "p.0.0.-1", "p.0.0.0.0", "p.a.0.0", "p..0.0",
      "s.0.9223372036854775808.0",
    ])
  func `other texts are no positions`(_ text: String) { #expect(ExportPosition(text) == nil) }

  private func kinds(_ bounds: ExportBounds) async throws -> (kinds: [String], pages: Int) {
    var (kinds, pages, position) = ([String](), 0, ExportPosition.start as ExportPosition?)
    while let from = position {
      let page = try #require(
        try await test.read { try $0.export.page(of: alice.id, from: from, within: bounds) })
      kinds += page.entries.map {
        switch $0 {
        case .person: "person"
        case .membership(let membership): "member \(membership.room)"
        case .invitation(let room, let invited): "invitation \(room) \(invited.user)"
        case .ban(let room, _): "ban \(room)"
        case .restriction(let room, _): "restriction \(room)"
        case .message(let room, let message, _): "message \(room) \(message.seq)"
        case .reactions(let message, let keys): "reactions \(message.seq) \(keys.joined())"
        case .report(let report): "report \(report.message.seq)"
        case .call(let call): "call \(call.message.seq) \(call.own ?? "")"
        case .response: "response"
        case .push: "push"
        case .audit(let action): "audit \(action.operation)"
        }
      }
      position = page.next
      pages += 1
      try #require(pages < 1_000)
    }
    return (kinds, pages)
  }

  /// The number of entries of a page, or `nil` if there is no such page.
  private func count(from position: ExportPosition) async throws -> Int? {
    try await test.read { try $0.export.page(of: alice.id, from: position, within: ExportBounds(entries: 1)) }?
      .entries.count
  }

  /// The name of the user is in the audit log until the erasure has come so far.
  @Test(arguments: [ExportPosition.Section.messages, .pushes, .audit])
  func `a later page of an erased user is no page`(_ section: ExportPosition.Section) async throws {
    let row = try await test.write { transaction in
      for operation in ["setRole", "setAccess"] { try transaction.addAudit(operation, [alice.id]) }
      return try transaction.needRow(of: alice)
    }
    let position = ExportPosition(section: section, row: row)
    #expect(try await count(from: position) != nil)
    _ = try await test.write { try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete) }
    #expect(try await count(from: position) == nil)
    #expect(try await count(from: .start) == 0)
    while try await !test.write({ try $0.erasures.perform("e").isLast }) {}
    #expect(try await count(from: position) == nil)
    #expect(try await count(from: .start) == 0)
    // A new user of this name.
    _ = try await test.write { _ = try $0.needRow(of: alice) }
    #expect(try await count(from: position) == nil)
    #expect(try await count(from: .start) == 1)
  }

  @Test func `a later page of a user without a row ends with an erasure, too`() async throws {
    try await test.write { transaction in
      for operation in ["setRole", "setAccess"] { try transaction.addAudit(operation, [alice.id]) }
    }
    let position = ExportPosition(section: .audit, first: 1)
    #expect(try await count(from: position) == 1)
    #expect(try await count(from: ExportPosition(section: .messages)) == nil)
    _ = try await test.write { try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete) }
    #expect(try await count(from: position) == nil)
    #expect(try await count(from: .start) == 0)
  }

  @Test func `all bounds give the same entries in other pages`() async throws {
    try await test.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.rooms.join(alice, room: tea, epoch: "t", now: TestStore.time)
      for left in ["left-1", "left-2"].map(RoomID.init(unchecked:)) {
        for user in [alice, bob] {
          _ = try transaction.rooms.join(user, room: left, epoch: "l", now: TestStore.time)
          try transaction.rooms.restrict(user.id, in: left, by: .backend, until: .at(99_000))
        }
        _ = try transaction.rooms.end(alice.id, left)
      }
      for number in 0..<5 {
        _ = try transaction.messages.append(draft("text \(number)"))
        _ = try transaction.messages.append(draft("text \(number)", from: bob))
      }
      for (seq, key) in [(2, "b"), (2, "a"), (4, "a")] as [(Int64, String)] {
        _ = try transaction.messages.react(room, seq, key, by: alice.id)
        _ = try transaction.messages.react(room, seq, key, by: bob.id)
      }
      try transaction.db.execute(
        sql: """
          INSERT INTO calls (room, seq, caller, media, began, ring_until, state)
            SELECT messages.room, messages.seq, sender, 'audio', 0, 0, 'ended' FROM messages WHERE seq < 4;
          INSERT INTO call_parties (room, seq, user, state)
            SELECT calls.room, seq, users.id, 'declined' FROM calls, users WHERE users.name = 'alice' AND seq = 2;
          """)
      for operation in ["setRole", "setAccess"] { try transaction.addAudit(operation, [alice.id, bob.id]) }
      try transaction.addAudit("disconnectUser", [bob.id])
    }
    let (all, pages) = try await kinds(ExportBounds(entries: 100))
    let messages = [1, 3, 5, 7, 9].map { "message room \($0)" }
    let others = [
      "reactions 2 ba", "reactions 4 a", "call 1 ", "call 2 declined", "call 3 ", "audit setRole", "audit setAccess",
    ]
    let rooms = ["member room", "member tea", "restriction left-1", "restriction left-2"]
    #expect(pages == 1 && all == ["person"] + rooms + messages + others)
    for change in [
      { $0.entries = 1 }, { $0.entries = 2 }, { $0.bytes = 1 }, { $0.rows = 1 }, { $0.rows = 3 },
    ] as [(inout ExportBounds) -> Void] {
      var bounds = ExportBounds(entries: 100)
      change(&bounds)
      let (same, pages) = try await kinds(bounds)
      #expect(same == all && pages > 1)
    }
  }

  @Test func `an unknown user has no entries`() async throws {
    let found = try await kinds(ExportBounds(entries: 1))
    #expect(found.kinds.isEmpty && found.pages == 1)
  }

  @Test func `a user without a row may have restrictions, and entries of the audit log`() async throws {
    try await test.write { transaction in
      for operation in ["setAccess", "eraseUser"] { try transaction.addAudit(operation, [alice.id]) }
    }
    #expect(try await kinds(ExportBounds(entries: 9)).kinds == ["audit setAccess", "audit eraseUser"])
    try await test.write { try $0.people.save(UserAccess(notBefore: .at(1)), of: alice.id) }
    let (all, pages) = try await kinds(ExportBounds(entries: 1))
    #expect(all == ["person", "audit setAccess", "audit eraseUser"] && pages == 3)
  }
}
