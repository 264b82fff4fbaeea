// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

private let pseudonym = UserID(unchecked: "erased-1")
private let tea = RoomID(unchecked: "tea")

/// The entries of the audit log: their pages, their bounds, and the erasure of users.
@Suite struct AuditTests {
  let test: TestStore
  init() throws { test = try TestStore() }

  private func ids(
    _ filter: AuditFilter = AuditFilter(), _ position: AuditPosition = .before(.max), limit: Int = 100,
    maxScanned: Int = 100
  ) async throws -> [Int64] {
    try await test.read { reader in
      try reader.audit.page(filter, position, limit: limit, maxScanned: maxScanned).entries.map(\.id)
    }
  }

  private func count(_ sql: String) async throws -> Int {
    try await test.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
  }

  /// Entries 1 to 6.
  private func fill() async throws {
    try await test.write { transaction in
      for number in 1...6 {
        let isOdd = number % 2 == 1
        try transaction.addAudit(
          isOdd ? "setRole" : "addMember", isOdd ? [alice.id, bob.id] : [bob.id],
          key: number < 4 ? "billing" : "support", room: number == 6 ? nil : tea)
      }
    }
  }

  @Test func `an entry has all of its members`() async throws {
    let entry = AuditEntry(
      time: .at(7), key: "billing", operation: "revokeReportKeys", room: tea, users: [bob.id, alice.id],
      target: "phone", error: .forbidden, request: "order-17", address: "192.0.2.7", skipped: 3)
    try await test.write { try $0.audit.add(entry, max: 9) }
    let found = try await test.read { try $0.audit.page(limit: 9) }
    var sorted = entry
    sorted.users = [alice.id, bob.id]
    #expect(found.entries == [StoredAuditEntry(id: 1, entry: sorted)] && found.next == nil)
    let plain = AuditEntry(time: .at(8), key: "billing", operation: "stepDown")
    try await test.write { try $0.audit.add(plain, max: 9) }
    #expect(try await test.read { try $0.audit.page(limit: 1) }.entries == [StoredAuditEntry(id: 2, entry: plain)])
  }

  @Test func `a filter selects by each of its members, and by several`() async throws {
    try await fill()
    for (filter, expected) in [
      (AuditFilter(), [6, 5, 4, 3, 2, 1]), (AuditFilter(key: "billing"), [3, 2, 1]),
      (AuditFilter(operation: "addMember"), [6, 4, 2]), (AuditFilter(room: tea), [5, 4, 3, 2, 1]),
      (AuditFilter(user: alice.id), [5, 3, 1]), (AuditFilter(user: UserID(unchecked: "carol")), []),
      (AuditFilter(key: "support", operation: "setRole"), [5]),
      (AuditFilter(operation: "setRole", room: tea), [5, 3, 1]),
      (AuditFilter(key: "billing", operation: "setRole", room: tea, user: bob.id), [3, 1]),
    ] as [(AuditFilter, [Int64])] {
      #expect(try await ids(filter) == expected, "\(filter)")
      #expect(try await ids(filter, .after(0)) == expected.reversed(), "\(filter)")
    }
  }

  @Test func `pages follow each other in both directions`() async throws {
    try await fill()
    for (first, expected) in [(.before(.max), [[6, 5, 4, 3], [2, 1]]), (.after(0), [[1, 2, 3, 4], [5, 6]])]
      as [(AuditPosition, [[Int64]])]
    {
      var (position, pages) = (first as AuditPosition?, [[Int64]]())
      while let from = position {
        let page = try await test.read { try $0.audit.page(AuditFilter(), from, limit: 4) }
        pages.append(page.entries.map(\.id))
        position = page.next.map { next -> AuditPosition in
          if case .after = from { .after(next) } else { .before(next) }
        }
        try #require(pages.count < 9)
      }
      #expect(pages == expected)
    }
    // An entry that follows the newest one of a client.
    #expect(try await ids(AuditFilter(), .after(5)) == [6])
    #expect(try await ids(AuditFilter(), .before(2)) == [1])
  }

  @Test func `a page looks at a bounded number of entries`() async throws {
    try await fill()
    let filter = AuditFilter(key: "support", room: tea)
    let first = try await test.read { try $0.audit.page(filter, .after(0), limit: 9, maxScanned: 2) }
    #expect(first.entries.isEmpty && first.next == 2)
    let second = try await test.read { try $0.audit.page(filter, .after(2), limit: 9, maxScanned: 2) }
    #expect(second.entries.map(\.id) == [4] && second.next == 4)
    let last = try await test.read { try $0.audit.page(filter, .after(4), limit: 9, maxScanned: 2) }
    #expect(last.entries.map(\.id) == [5] && last.next == nil)
  }

  // MARK: Bounds

  @Test func `a new entry replaces the oldest above the maximum`() async throws {
    try await test.write { transaction in
      for _ in 1...20 { try transaction.addAudit("setRole", [alice.id, bob.id], max: 5) }
    }
    #expect(try await ids() == [20, 19, 18, 17, 16])
    #expect(try await count("audit_users") == 10)
  }

  @Test(arguments: [0, 1, AuditEntry.maxUsers])
  func `an addition to a full log writes the estimated number of rows`(users count: Int) async throws {
    let users = (0..<count).map { UserID(unchecked: "user\($0)") }
    let entry = AuditEntry(time: .at(0), key: "k", operation: "createRoom", users: users)
    try await test.write { transaction in
      for _ in 0..<3 { try transaction.audit.add(entry, max: 3) }
    }
    let rows = try await test.write { transaction in
      let before = transaction.db.totalChangesCount
      try transaction.audit.add(entry, max: 3)
      return transaction.db.totalChangesCount - before
    }
    #expect(rows == AuditWriter.rows(toAdd: entry) && rows == 2 * (1 + count))
  }

  @Test func `the additions of a transaction replace a bounded number of rows, and later ones the rest`() async throws {
    let users = (0..<AuditEntry.maxUsers).map { UserID(unchecked: "user\($0)") }
    try await test.write { transaction in
      for _ in 0..<40 { try transaction.addAudit("createRoom", users, max: 40) }
    }
    let rows = try await test.write { transaction in
      let before = transaction.db.totalChangesCount
      for _ in 0..<30 { try transaction.addAudit("stepDown", [], max: 40) }
      return transaction.db.totalChangesCount - before
    }
    #expect(rows <= 30 + AuditWriter.maxTrimmedRows + AuditWriter.maxTrimmed * (1 + AuditEntry.maxUsers))
    #expect(try await count("audit") == 60)
    // Each addition replaces two entries, and the next transactions may replace as many rows again.
    for _ in 0..<20 { try await test.write { try $0.addAudit("stepDown", [], max: 40) } }
    #expect(try await count("audit") == 40)
  }

  @Test func `a lower maximum applies in slices, and 0 deletes all`() async throws {
    try await test.write { transaction in
      for _ in 1...(AuditWriter.maxPurged + 5) { try transaction.addAudit("setRole", [alice.id]) }
    }
    let purge: @Sendable (Transaction) throws -> Bool = { try $0.audit.purge(olderThan: .seconds(1), max: 3) }
    #expect(try await test.write(purge))
    #expect(try await count("audit") == 5)
    #expect(try await !test.write(purge))
    #expect(try await count("audit") == 3)
    #expect(try await !test.write { try $0.audit.purge(olderThan: .seconds(1), max: 0) })
    #expect(try await count("audit") == 0)
    #expect(try await count("audit_users") == 0)
    // No number is used twice.
    try await test.write { try $0.addAudit("setRole", [alice.id]) }
    #expect(try await ids() == [Int64(AuditWriter.maxPurged) + 6])
  }

  @Test func `a slice ends after a number of rows`() async throws {
    let users = (0..<AuditEntry.maxUsers).map { UserID(unchecked: "user\($0)") }
    let inSlice = AuditWriter.maxPurgedRows / (users.count + 1) + 1
    try await test.write { transaction in
      for _ in 0..<(inSlice + 2) { try transaction.addAudit("createRoom", users) }
    }
    #expect(try await test.write { try $0.audit.purge(olderThan: .seconds(1), max: 0) })
    #expect(try await count("audit") == 2)
    #expect(try await !test.write { try $0.audit.purge(olderThan: .seconds(1), max: 0) })
    #expect(try await count("audit") == 0)
  }

  @Test func `an old entry is deleted after the retention`() async throws {
    try await test.write { transaction in
      for time in [-2_000, 500, -1_001, -1_000] as [Int64] {
        try transaction.addAudit("setRole", [alice.id], time: .at(time))
      }
    }
    #expect(try await !test.write { try $0.audit.purge(olderThan: .seconds(1), max: 9) })
    #expect(try await ids() == [4, 2])
    #expect(try await count("audit_users") == 2)
  }

  @Test func `an entry has at most the maximum number of users`() async throws {
    let users = (0..<AuditEntry.maxUsers + 9).map { UserID(unchecked: "user-\($0)") }
    try await test.write { try $0.addAudit("createRoom", users) }
    #expect(try await count("audit_users") == AuditEntry.maxUsers)
  }

  // MARK: Erasures

  private func erase() async throws {
    var slices = 0
    while try await !test.write({ try $0.erasures.perform("e").isLast }) {
      slices += 1
      try #require(slices < 1_000)
    }
  }

  @Test func `the pseudonym replaces an erased user in slices`() async throws {
    try await test.write { transaction in
      for number in 1...(AuditWriter.maxPurged + 5) {
        try transaction.addAudit(
          "revokeReportKeys", [alice.id, bob.id], target: "alices-phone", request: "alice-\(number)")
      }
      try transaction.addAudit("revokeReportKeys", [bob.id], target: "bobs-phone", request: "bob-1")
      _ = try transaction.erasures.begin("e", of: alice.id, as: pseudonym, .delete)
    }
    try await erase()
    #expect(try await count("audit_users WHERE user = 'alice'") == 0)
    #expect(try await count("audit_users WHERE user = 'erased-1'") == AuditWriter.maxPurged + 5)
    #expect(try await count("audit_users WHERE user = 'bob'") == AuditWriter.maxPurged + 6)
    #expect(try await count("audit WHERE request IS NOT NULL OR target IS NOT NULL") == 1)
    #expect(try await count("audit WHERE request = 'bob-1' AND target = 'bobs-phone'") == 1)
    #expect(try await ids(AuditFilter(user: pseudonym)).count == 100)
  }

  @Test func `an entry after the begin of an erasure has the pseudonym, and after its end nothing of the user`()
    async throws
  {
    let add: @Sendable (Transaction) throws -> Void = {
      let entry = AuditEntry(
        time: .at(0), key: "k", operation: "eraseUser", users: [alice.id, bob.id], target: "phone", request: "alice-1")
      try $0.audit.add(entry, erased: [alice.id], max: 99)
    }
    try await test.write { _ = try $0.erasures.begin("e", of: alice.id, as: pseudonym, .delete) }
    try await test.write(add)
    // The store knows the open erasure by itself.
    try await test.write { try $0.addAudit("setRole", [alice.id], request: "alice-2") }
    try await erase()
    try await test.write(add)
    let found = try await test.read { try $0.audit.page(limit: 9) }.entries.map(\.entry)
    #expect(found.map(\.users) == [[bob.id], [pseudonym], [bob.id, pseudonym]])
    #expect(found.allSatisfy { $0.request == nil && $0.target == nil })
    // Another user may have the name now.
    try await test.write { try $0.addAudit("setRole", [alice.id], request: "new") }
    #expect(try await ids(AuditFilter(user: alice.id)) == [4])
  }

  @Test func `the files have no name of an erased user`() async throws {
    let secretive = UserID(unchecked: "secretive-name")
    try await test.write { transaction in
      for number in 0..<200 {
        try transaction.addAudit(
          "setRole", [secretive, bob.id], target: "secretive-phone", request: "secretive-\(number)")
      }
      _ = try transaction.erasures.begin("e", of: secretive, as: pseudonym, .delete)
    }
    try await erase()
    try await test.store.rewrite()
    try await test.store.emptyLog()
    for file in ["stillwire.db", "stillwire.db-wal"] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: test.folder + "/" + file))
      #expect(bytes.range(of: Data("secretive".utf8)) == nil, "\(file)")
    }
  }

  @Test func `entries survive a restart`() async throws {
    let folder = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for number in 1...2 {
      let store = try Store(folder: folder) { for completion in $0 { completion() } }
      try await store.write { try $0.addAudit("setRole", [alice.id]) }
      let page = try await store.read { try $0.audit.page(limit: 9) }
      #expect(page.entries.count == number && page.entries.last?.entry.users == [alice.id])
      store.close()
    }
  }
}

extension Transaction {
  func addAudit(
    _ operation: String, _ users: [UserID], key: String = "billing", room: RoomID? = nil, target: String? = nil,
    request: String? = nil, time: Timestamp = .at(0), max: Int = 10_000
  ) throws {
    let entry = AuditEntry(
      time: time, key: key, operation: operation, room: room, users: users, target: target, request: request)
    try audit.add(entry, max: max)
  }
}
