// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// Opening, closing, reading, and errors of the store.
@Suite final class StoreTests {
  /// A path that only this test uses. It does not exist yet.
  private let folder = temporaryPath()
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Opens a store that runs completions at once.
  private func open(_ folder: String, _ synchronous: Synchronous = .full) throws(StoreError) -> Store {
    try Store(folder: folder, synchronous: synchronous) { for completion in $0 { completion() } }
  }

  @Test func `a missing folder is created with access for its owner only`() throws {
    let folder = folder + "/deeper"
    let store = try open(folder)
    defer { store.close() }
    for (path, expected) in [(folder, 0o700), (folder + "/stillwire.db", 0o600)] {
      let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
      #expect(permissions?.intValue == expected)
    }
  }

  @Test(arguments: [(Synchronous.normal, 1), (.full, 2)])
  func `commits reach the disk as configured`(synchronous: Synchronous, pragma: Int) throws {
    let store = try open(folder, synchronous)
    defer { store.close() }
    let (level, mode) = try store.pool.writeWithoutTransaction { db in
      (try Int.fetchOne(db, sql: "PRAGMA synchronous"), try String.fetchOne(db, sql: "PRAGMA journal_mode"))
    }
    #expect(level == pragma)
    #expect(mode == "wal")
  }

  @Test func `two stores cannot open the same folder`() throws {
    let store = try open(folder)
    #expect(throws: StoreError.inUse(path: folder)) { try open(folder) }
    store.close()
    try open(folder).close()
  }

  @Test func `a folder inside a file is unusable`() throws {
    try Data().write(to: URL(fileURLWithPath: folder))
    let error = #expect(throws: StoreError.self) { try open(folder + "/data") }
    #expect(error == .unusable(path: folder + "/data", reason: "the folder cannot be created"))
  }

  @Test func `a file that is not a database counts as damaged`() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(repeating: 0x41, count: 8_192).write(to: URL(fileURLWithPath: folder + "/stillwire.db"))
    let error = #expect(throws: StoreError.self) { try open(folder) }
    #expect(error == .damaged(path: folder + "/stillwire.db", reason: "file is not a database"))
  }

  @Test func `a database of a newer release is refused and not changed`() throws {
    let store = try open(folder)
    try store.pool.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('of the future')") }
    store.close()
    #expect(throws: StoreError.newerSchema(path: folder + "/stillwire.db")) { try open(folder) }
    // It is refused again and not locked: the first refusal has released the folder.
    #expect(throws: StoreError.newerSchema(path: folder + "/stillwire.db")) { try open(folder) }
  }

  @Test func `committed transactions survive a crash`() async throws {
    let test = try TestStore()
    try await test.write { try $0.prepareRoom() }
    for number in 1...50 { try await test.write { _ = try $0.messages.append(draft("\(number)", jobs: [job()])) } }

    // The files after a crash: the log is not in the database yet.
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for file in [RunRecord.name, "stillwire.db", "stillwire.db-wal"] {
      try FileManager.default.copyItem(atPath: test.folder + "/" + file, toPath: folder + "/" + file)
    }
    let reopened = try open(folder)
    defer { reopened.close() }
    let page = try await reopened.read { try $0.messages.page(room, after: 0, limit: 100) }
    #expect(page?.messages.map(\.seq) == Array(1...50))
    #expect(page?.messages.last?.body == Array("\"50\"".utf8))
    #expect(try await reopened.read { try $0.queue.jobCounts() } == [.ready: 50])
    #expect(try await reopened.write { try $0.messages.append(draft()).seq } == 51)
  }

  @Test func `close commits queued works and empties the log`() async throws {
    let seqs = Mutex<[Int64]>([])
    let store = try open(folder)
    try await store.write { try $0.prepareRoom() }
    for _ in 1...200 {
      store.submit({ try $0.messages.append(draft()).seq }) { result in
        seqs.withLock { $0.append((try? result.get()) ?? -1) }
      }
    }
    store.close()
    #expect(seqs.withLock { $0 } == Array(1...200))
    let log = try? FileManager.default.attributesOfItem(atPath: folder + "/stillwire.db-wal")[.size] as? NSNumber
    #expect(log?.intValue ?? 0 == 0)

    store.close()
    await #expect(throws: StoreError.closed) { try await store.write { _ in } }
    await #expect(throws: StoreError.closed) { try await store.read { _ in } }
  }

  /// GRDB gives out closed connections while it closes.
  @Test func `reads that begin while the store closes see a snapshot or its end`() async throws {
    @Sendable func count(_ store: Store) async throws {
      #expect(try await store.read { try Int.fetchOne($0.db, sql: "SELECT count(*) FROM rooms") } == 0)
    }
    for round in 1...20 {
      let store = try open("\(folder)/\(round)")
      let ends = try await withThrowingTaskGroup { group in
        for _ in 1...4 {
          group.addTask {
            while true {
              do { try await count(store) } catch { return error as? StoreError }
            }
          }
        }
        for _ in 1...5 { try await count(store) }
        store.close()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(ends == Array(repeating: .closed, count: 4))
    }
  }

  @Test func `a read sees one snapshot although a write commits meanwhile`() async throws {
    let test = try TestStore()
    try await test.write { try $0.prepareRoom() }
    let store = test.store
    let seqs = try await test.read { reader in
      let before = try reader.rooms.snapshot(room)?.state.seq
      let isCommitted = DispatchSemaphore(value: 0)
      store.submit({ try $0.messages.append(draft()) }) { _ in isCommitted.signal() }
      isCommitted.wait()
      return [before, try reader.rooms.snapshot(room)?.state.seq]
    }
    #expect(seqs == [0, 0])
    #expect(try await test.read { try $0.rooms.snapshot(room)?.state.seq } == 1)
  }

  @Test(arguments: [
    (StoreError.unusable(path: "/data", reason: "no"), "unusable"), (.newerSchema(path: "/data"), "newer_schema"),
    (.inUse(path: "/data"), "in_use"), (.noRoom(room), "no_room"), (.unavailable(reason: "full"), "unavailable"),
    (.damaged(path: "/data", reason: "bad"), "damaged"), (.invalidRow(reason: "bad"), "invalid_row"),
    (.failed(reason: "bad"), "failed"), (.closed, "closed"),
    (.answered, "answered"), (.ended(reason: "deposed"), "ended"), (.tooLarge, "too_large"),
  ])
  func `an error has a code and one line`(error: StoreError, code: String) {
    #expect(error.code.rawValue == code)
    #expect(!error.description.isEmpty)
    #expect(!error.description.contains("\n"))
  }
}

/// The limit of the write-ahead log.
@Suite struct LogBoundTests {
  /// Two readers, each of which stays until the other has begun again. Without such readers SQLite would restart its
  /// log by itself.
  private final class EndlessReads: Sendable {
    private let isOver = Mutex(false)
    private let begun = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    private let ended = DispatchGroup()

    init(_ store: Store) {
      read(store, isFirst: true, own: begun.0, other: begun.1)
      read(store, isFirst: false, own: begun.1, other: begun.0)
    }

    private func read(_ store: Store, isFirst: Bool, own: DispatchSemaphore, other: DispatchSemaphore) {
      DispatchQueue.global().async(group: ended) { [self] in
        var isFirst = isFirst
        while !isOver.withLock({ $0 }) {
          try? store.pool.read { db in
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM rooms")
            if !isFirst { own.signal() }
            isFirst = false
            other.wait()
          }
        }
        own.signal()
      }
    }

    func end() {
      isOver.withLock { $0 = true }
      ended.wait()
    }
  }

  private static let bound = 4 << 20
  private let folder = temporaryPath()

  private func withStore(_ body: (Store) async throws -> Void) async throws {
    let store = try Store(
      folder: folder, synchronous: .normal, maxLog: Self.bound, clock: StoreClock(now: { TestStore.time })
    ) {
      for completion in $0 { completion() }
    }
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await store.write { try $0.prepareRoom() }
    try await body(store)
    store.close()
  }

  /// The size of the file of the log.
  private var size: Int {
    get throws {
      let facts = try FileManager.default.attributesOfItem(atPath: folder + "/stillwire.db-wal")
      return try #require(facts[.size] as? NSNumber).intValue
    }
  }

  private func write(to store: Store) async throws {
    try await store.write { transaction in
      var message = draft(cursorFollows: true)
      message.body = [UInt8](repeating: UInt8(ascii: "1"), count: 60_000)
      _ = try transaction.messages.append(message)
    }
  }

  /// Another process that reads an old state of the database.
  private func reader() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: folder + "/stillwire.db", configuration: configuration)
    try reader.writeWithoutTransaction { try $0.execute(sql: "BEGIN; SELECT count(*) FROM messages") }
    return reader
  }

  private func end(_ reader: DatabaseQueue) throws {
    try reader.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
  }

  @Test func `the log is restarted although readers always overlap`() async throws {
    try await withStore { store in
      let reads = EndlessReads(store)
      defer { reads.end() }
      var (largest, last) = (0, 0)
      // A busy machine may delay the readers, so the first attempts may fail.
      for _ in 0..<10_000 where last >= largest {
        largest = last
        try await write(to: store)
        last = try size
      }
      #expect(last < largest)
    }
  }

  @Test func `a reader that stays makes the log large, and the log loses its peak after it`() async throws {
    try await withStore { store in
      let reader = try reader()
      while try size < 3 * Self.bound { try await write(to: store) }
      #expect(store.statistics.logBlocked != nil)
      #expect(store.statistics.logSize > Self.bound)
      try end(reader)
      for _ in 0..<10_000 where try size > Self.bound { try await write(to: store) }
      #expect(try size <= Self.bound)
      try await write(to: store)
      #expect(store.statistics.logBlocked == nil)
    }
  }

  @Test func `without messages, the store itself restarts a log after its reader`() async throws {
    try await withStore { store in
      let reader = try reader()
      while store.statistics.logBlocked == nil { try await write(to: store) }
      try end(reader)
      let start = ContinuousClock.now
      while store.statistics.logBlocked != nil, .now - start < .seconds(60) {
        store.boundLog()
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(store.statistics.logBlocked == nil)
      #expect(try size <= Self.bound)
    }
  }

  @Test func `the pause between two attempts doubles, up to a bound`() async throws {
    try await withStore { store in
      let reader = try reader()
      let path = folder + "/stillwire.db-wal"
      try await store.pool.writeWithoutTransaction { db in
        try db.execute(sql: "CREATE TABLE filler (id INTEGER PRIMARY KEY, text)")
        let log = LogBound(log: path, bound: 1)
        var now = log.next
        for pause in [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000] {
          _ = log.check(db, now: now)
          #expect(log.next == now + .milliseconds(pause))
          #expect(log.blockedSince != nil)
          // Too early: this makes no attempt.
          _ = log.check(db, now: now + .milliseconds(pause - 1))
          #expect(log.next == now + .milliseconds(pause))
          now = log.next
        }
        try end(reader)
        #expect(log.check(db, now: now) == 0)
        #expect(log.blockedSince == nil)
      }
    }
  }

  @Test func `after a pause in which the log became small, the next attempt is at once`() async throws {
    try await withStore { store in
      let reader = try reader()
      let path = folder + "/stillwire.db-wal"
      try await store.pool.writeWithoutTransaction { db in
        try db.execute(sql: "CREATE TABLE filler (id INTEGER PRIMARY KEY, text)")
        let log = LogBound(log: path, bound: 1)
        var now = log.next
        for _ in 1...9 {
          _ = log.check(db, now: now)
          now = log.next
        }
        try end(reader)
        try db.truncateLog()
        // Another connection has restarted the log within the pause of 25.6 s.
        now -= .seconds(20)
        #expect(log.check(db, now: now) == 0)
        #expect(log.next == now)
      }
    }
  }
}
