// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// A damaged database: at the start, and in use.
@Suite final class DamageTests {
  /// A path that only this test uses. It does not exist yet.
  private let folder = temporaryPath()
  private var path: String { folder + "/stillwire.db" }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func open() throws(StoreError) -> Store {
    try Store(folder: folder) { for completion in $0 { completion() } }
  }

  /// Makes a database with a message, and closes it.
  private func fill() async throws {
    let store = try open()
    try await store.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft(jobs: [job()]))
    }
    store.close()
  }

  /// A table or an index, and the number of its root page.
  private struct Tree {
    let part: DamageCheck.Part
    let root: Int
  }

  /// All tables and indexes of the database, from its schema.
  private func trees() throws -> [Tree] {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read { db in
      try DamageCheck.parts(db).map { part in
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        return Tree(part: part, root: try #require(try Int.fetchOne(db, sql: sql, arguments: [part.name])))
      }
    }
  }

  /// Writes zeros to a page of the file.
  private func damage(page: Int) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64((page - 1) * 4096))
    try file.write(contentsOf: Data(count: 4096))
  }

  // MARK: The errors of SQLite

  @Test(arguments: [
    (ResultCode.SQLITE_CORRUPT, StoreError.Code.damaged), (.SQLITE_CORRUPT_VTAB, .damaged),
    (ResultCode(rawValue: 11 | 3 << 8), .damaged),  // SQLITE_CORRUPT_INDEX
    (.SQLITE_NOTADB, .damaged), (.SQLITE_FULL, .unavailable), (.SQLITE_IOERR, .unavailable),
    (.SQLITE_IOERR_READ, .unavailable), (.SQLITE_BUSY, .unavailable), (.SQLITE_READONLY, .unavailable),
    (.SQLITE_CANTOPEN, .unavailable), (.SQLITE_CONSTRAINT, .failed), (.SQLITE_ERROR, .failed),
  ])
  func `a result code of SQLite decides whether the store is damaged`(code: ResultCode, expected: StoreError.Code) {
    let error = DatabaseError(resultCode: code, message: "words")
    let damage = StoreDamage(path: "/data/stillwire.db")
    #expect(damage.noted(error).code == expected)
    #expect((damage.error != nil) == (expected == .damaged))
    let other = StoreDamage(path: "/data/stillwire.db")
    #expect((other.noted(ofCommit: error).code == .damaged) == (expected == .damaged))
    #expect((other.error != nil) == (expected == .damaged))
  }

  @Test func `an invalid row is no damage of the store`() {
    let damage = StoreDamage(path: "/data/stillwire.db")
    #expect(damage.noted(StoreError.invalidRow(reason: "a name")).code == .invalidRow)
    #expect(damage.error == nil)
  }

  @Test func `the first damage counts, and the listener is called once`() {
    let damage = StoreDamage(path: "/data/stillwire.db")
    let heard = Mutex<[StoreError]>([])
    #expect(damage.listen { error in heard.withLock { $0.append(error) } } == nil)
    _ = damage.noted(DatabaseError(resultCode: .SQLITE_CORRUPT, message: "first"))
    _ = damage.noted(DatabaseError(resultCode: .SQLITE_NOTADB, message: "second"))
    let first = StoreError.damaged(path: "/data/stillwire.db", reason: "first")
    #expect(damage.error == first)
    #expect(heard.withLock { $0 } == [first])
    #expect(damage.listen { error in heard.withLock { $0.append(error) } } == first)
    #expect(heard.withLock { $0 } == [first])
  }

  @Test func `the text names the file and the next step`() {
    let text = StoreError.damaged(path: "/data/stillwire.db", reason: "malformed").description
    for word in ["/data/stillwire.db", "is damaged", "malformed", "restore a backup", "Backup and restore"] {
      #expect(text.contains(word))
    }
  }

  // MARK: At the start

  @Test func `the start finds the damaged root of each table and each index`() async throws {
    try await fill()
    let intact = try Data(contentsOf: URL(fileURLWithPath: path))
    let trees = try trees()
    #expect(trees.count > 100)
    for tree in trees {
      try damage(page: tree.root)
      let error = #expect(throws: StoreError.self, "\(tree.part.name)") { try open() }
      guard case .damaged(path, let reason) = error else {
        Issue.record("\(tree.part.name): \(String(describing: error))")
        continue
      }
      // An earlier step of the start reads the migrations.
      #expect(reason.hasSuffix("in \(tree.part.name)") || tree.part.name.contains("grdb_migrations"))
      try intact.write(to: URL(fileURLWithPath: path))
    }
    try open().close()
  }

  @Test func `the start finds a damaged schema`() async throws {
    try await fill()
    let intact = try Data(contentsOf: URL(fileURLWithPath: path))
    func number(at offset: Int, bytes: Int) -> Int { intact[offset..<offset + bytes].reduce(0) { $0 << 8 | Int($1) } }
    // The schema has several pages. The first one, whose header begins at byte 100, has pointers to the others.
    #expect(intact[100] == 5)
    let cells = 0..<number(at: 103, bytes: 2)
    let children = cells.map { number(at: number(at: 112 + 2 * $0, bytes: 2), bytes: 4) }
    #expect(!children.isEmpty)
    for page in [1] + children {
      try damage(page: page)
      let error = #expect(throws: StoreError.self, "page \(page)") { try open() }
      #expect(error?.code == .damaged, "page \(page)")
      try intact.write(to: URL(fileURLWithPath: path))
    }
  }

  @Test func `tables of other programs that cannot be read do not hinder the start`() async throws {
    try await fill()
    let queue = try DatabaseQueue(path: path)
    try await queue.writeWithoutTransaction { db in
      db.add(collation: DatabaseCollation("own") { $0.compare($1) })
      try db.execute(sql: "CREATE TABLE \"a \"\"song\" (name TEXT COLLATE own PRIMARY KEY) WITHOUT ROWID")
      try db.execute(sql: "CREATE INDEX songs ON \"a \"\"song\" (name) WHERE name > 'a'")
    }
    try queue.close()
    try open().close()
  }

  // MARK: In use

  /// Opens the store, damages a page, and makes SQLite read all pages again.
  private func openDamaged(_ page: Int) async throws -> Store {
    let store = try open()
    try await store.emptyLog()
    try damage(page: page)
    try await store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA shrink_memory") }
    // Readers keep their pages until another connection has written.
    _ = try? await store.write { try $0.touchDisk() }
    return store
  }

  @Test func `a read finds the damaged root of each table and each index`() async throws {
    try await fill()
    let intact = try Data(contentsOf: URL(fileURLWithPath: path))
    for tree in try trees() {
      let store = try await openDamaged(tree.root)
      // Each second, a commit writes to the table `installation`.
      #expect(store.damage == nil || tree.part.name == "installation", "\(tree.part.name)")
      let error = await #expect(throws: StoreError.self, "\(tree.part.name)") {
        try await store.read { _ = try Row.fetchOne($0.db, sql: tree.part.query) }
      }
      #expect(error?.code == .damaged && error == store.damage, "\(tree.part.name)")
      #expect(store.statistics.isDamaged && !store.statistics.isAvailable)
      store.close()
      for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
      try intact.write(to: URL(fileURLWithPath: path))
    }
  }

  @Test func `a write finds a damage, and nothing of its group is stored`() async throws {
    try await fill()
    let tree = try #require(try trees().first { $0.part.name == "messages" })
    let store = try await openDamaged(tree.root)
    let error = await #expect(throws: StoreError.self) {
      try await store.write { transaction in
        try transaction.people.rename(User(id: alice.id, name: "Alicia"))
        _ = try transaction.messages.append(draft())
      }
    }
    #expect(error?.code == .damaged && store.statistics.isDamaged)
    #expect(try await store.read { try $0.people.user(alice.id)?.user.name } == alice.name)
    store.close()
  }

  @Test func `a damage undoes its whole group, and all later writes are refused`() async throws {
    let test = try TestStore()
    try await test.write { try $0.prepareRoom() }
    let results = Mutex<[StoreError.Code?]>([])
    let heard = Mutex(0)
    #expect(test.store.listenToDamage { _ in heard.withLock { $0 += 1 } } == nil)
    await withCheckedContinuation { continuation in
      test.gather {
        for index in 0..<3 {
          test.store.submit({ transaction in
            _ = try transaction.messages.append(draft("\(index)"))
            if index == 1 { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "malformed") }
          }) { result in
            let count = results.withLock { results in
              if case .failure(let error) = result { results.append(error.code) } else { results.append(nil) }
              return results.count
            }
            if count == 3 { continuation.resume() }
          }
        }
      }
    }
    #expect(results.withLock { $0 } == [.damaged, .damaged, .damaged])
    #expect(heard.withLock { $0 } == 1)
    let damage = try #require(test.store.damage)
    await #expect(throws: damage) { try await test.write { _ = try $0.messages.append(draft("later")) } }
    await #expect(throws: damage) { try await test.store.emptyLog() }
    await #expect(throws: damage) { try await test.store.rewrite() }
    #expect(await code(ofAppendTo: test.store) == .damaged)
    // Reads go on.
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 0)
    #expect(test.store.listenToDamage { _ in } == damage)
  }

  @Test func `a message that finds a damage is refused, and so is its group`() async throws {
    try await fill()
    let tree = try #require(try trees().first { $0.part.name == "messages" })
    let store = try await openDamaged(tree.root)
    #expect(await code(ofAppendTo: store) == .damaged)
    #expect(store.damage != nil)
    store.close()
  }

  @Test func `a store with a damage does not count its end as clean`() async throws {
    let store = try open()
    await #expect(throws: StoreError.self) {
      try await store.read { _ in throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "malformed") }
    }
    store.close()
    #expect(RunFile(folder: folder).read()?.isClosed == false)
  }

  /// Appends a message. Returns the code of the error, or `nil`.
  private func code(ofAppendTo store: Store) async -> StoreError.Code? {
    await withCheckedContinuation { (continuation: CheckedContinuation<StoreError.Code?, Never>) in
      store.append(draft()) { result in
        switch result {
        case .success: continuation.resume(returning: nil)
        case .failure(let error): continuation.resume(returning: error.code)
        }
      }
    }
  }

  // MARK: Copies of a cluster's node

  @Test func `a damaged file has no copy`() async throws {
    try await fill()
    let tree = try #require(try trees().first { $0.part.name == "messages" })
    try damage(page: tree.root)
    let copy = folder + "/copy"
    let error = #expect(throws: StoreError.self) { try Replica.copy(folder: self.folder, to: copy) }
    guard case .damaged(path, _) = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  @Test func `the position of a damaged file can be read`() async throws {
    let replica = try Replica(folder: folder)
    try replica.setPosition("7")
    replica.close()
    let trees = try trees()
    try damage(page: try #require(trees.first { $0.part.name == "users" }).root)
    let error = #expect(throws: StoreError.self) { try Replica(folder: self.folder) }
    #expect(error?.code == .damaged)
    #expect(try Replica.position(ofDamaged: folder) == "7")
    try damage(page: try #require(trees.first { $0.part.name == "installation" }).root)
    #expect(throws: StoreError.self) { try Replica.position(ofDamaged: self.folder) }
  }
}
