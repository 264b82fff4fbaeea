// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Synchronization
import Testing

@testable import RelayStore

/// The file of a node that follows a log.
@Suite final class ReplicaTests {
  /// Paths that only this test uses. They do not exist yet.
  private let folder = temporaryPath()
  private let other = temporaryPath()
  private let files = FileManager.default
  private var path: String { folder + "/stillwire.db" }

  deinit {
    for path in [folder, other] { try? FileManager.default.removeItem(atPath: path) }
  }

  /// The groups of a store that prepares a room and stores messages.
  private func groups(_ count: Int = 3) async throws -> [[UInt8]] {
    let journal = MemoryJournal()
    let test = try TestStore(journal: journal)
    try await test.write { try $0.prepareRoom() }
    for number in 1..<count { try await test.write { _ = try $0.messages.append(draft("\(number)", jobs: [job()])) } }
    return journal.groups
  }

  /// Creates a replica with these groups in a folder, and closes it. Returns its hash.
  @discardableResult
  private func fill(_ folder: String, _ groups: [[UInt8]]) throws -> String {
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    try replica.apply(groups, position: "\(groups.count)")
    return try replica.hash()
  }

  // MARK: Opening

  @Test func `a new replica is empty, has all migrations, and follows no log`() throws {
    let replica = try Replica(folder: folder)
    #expect(replica.position == nil)
    #expect(try replica.isEmpty)
    #expect(replica.migrations == Replica.known)
    #expect(throws: StoreError.inUse(path: folder)) { try Replica(folder: self.folder) }
    #expect(throws: StoreError.inUse(path: folder)) { try Store(folder: self.folder) { _ in } }
    replica.close()
    replica.close()
    for (path, expected) in [(folder, 0o700), (path, 0o600)] {
      let permissions = try files.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
      #expect(permissions?.intValue == expected)
    }
    #expect(throws: StoreError.closed) { try replica.isEmpty }
    #expect(throws: ReplicaError.self) { try replica.apply([[1]], position: "1") }
  }

  @Test func `a replica keeps its secret, which a store uses`() throws {
    try followLog(folder)
    let store = try Store(folder: folder, journal: MemoryJournal()) { _ in }
    let secret = store.secret
    store.close()
    #expect(secret.count == 32)
    try followLog(folder)
    let again = try Store(folder: folder, journal: MemoryJournal()) { _ in }
    defer { again.close() }
    #expect(again.secret == secret)
  }

  @Test func `the file of a single node can be opened, and follows no log`() async throws {
    let store = try Store(folder: folder) { for completion in $0 { completion() } }
    try await store.write { try $0.prepareRoom() }
    store.close()
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(replica.position == nil)
    #expect(try !replica.isEmpty)
  }

  @Test func `a file of a newer release, and one of another program, are refused`() throws {
    try followLog(folder)
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('of the future')") }
    #expect(throws: StoreError.newerSchema(path: path)) { try Replica(folder: self.folder) }
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA application_id = 77") }
    try queue.close()
    let error = #expect(throws: StoreError.self) { try Replica(folder: self.folder) }
    #expect(error?.description.contains("another program") == true)
  }

  // MARK: Applying

  @Test func `groups and their position are written together, and survive a crash`() async throws {
    let groups = try await groups()
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    try replica.apply(Array(groups.prefix(2)), position: "2")
    let hash = try replica.hash()
    try copyFiles(after: "crash")
    #expect(try !replica.isEmpty)
    try replica.apply([groups[2]], position: "3")
    #expect(try replica.hash() != hash)
    let crashed = try Replica(folder: other)
    defer { crashed.close() }
    #expect(crashed.position == "2")
    #expect(try crashed.hash() == hash)
  }

  /// Copies the database and its log to the other folder, as a crash leaves them.
  private func copyFiles(after _: String) throws {
    try files.createDirectory(atPath: other, withIntermediateDirectories: true)
    for name in ["stillwire.db", "stillwire.db-wal"] {
      try files.copyItem(atPath: folder + "/" + name, toPath: other + "/" + name)
    }
  }

  @Test func `a conflict names the group, and changes nothing`() async throws {
    let groups = try await groups()
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    try replica.apply([groups[0]], position: "1")
    let hash = try replica.hash()
    let error = #expect(throws: ReplicaError.self) { try replica.apply([groups[1], groups[0]], position: "3") }
    guard case .conflict(index: 1, let reason)? = error else { return #expect(Bool(false), "another error") }
    #expect(reason.contains("table"))
    #expect(replica.position == "1")
    #expect(try replica.hash() == hash)
    // The file can still follow the log.
    try replica.apply([groups[1], groups[2]], position: "3")
    #expect(replica.position == "3")
  }

  @Test(arguments: [[], [0], [1, 255], [2, 0, 0], Array("text".utf8)])
  func `a malformed group is a conflict`(body: [UInt8]) throws {
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    let error = #expect(throws: ReplicaError.self) { try replica.apply([body], position: "1") }
    guard case .conflict(index: 0, _)? = error else { return #expect(Bool(false), "another error") }
    #expect(replica.position == nil)
  }

  @Test func `a file that cannot be written is no conflict`() async throws {
    let groups = try await groups()
    let replica = try Replica(folder: folder)
    replica.close()
    #expect(throws: ReplicaError.failed(.closed)) { try replica.apply(groups, position: "1") }
  }

  @Test func `a damaged file is no conflict, but a damage`() async throws {
    let groups = try await groups(200)
    try fill(folder, Array(groups.dropLast()))
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    try Damage.overwritten.apply(to: path)
    let error = #expect(throws: ReplicaError.self) { try replica.apply(groups.suffix(1), position: "200") }
    guard case .failed(.damaged) = error else { return #expect(Bool(false), "\(String(describing: error))") }
  }

  @Test func `a store saves the position of records without rows`() async throws {
    let groups = try await groups()
    try fill(folder, groups)
    let journal = MemoryJournal(groups: groups)
    let store = try Store(folder: folder, journal: journal) { for completion in $0 { completion() } }
    store.savePosition { "after noops" }
    store.close()
    #expect(journal.groups == groups)
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(replica.position == "after noops")
  }

  @Test func `a store continues where the replica has ended, and a replica follows it`() async throws {
    let groups = try await groups()
    try fill(folder, groups)
    let journal = MemoryJournal(groups: groups)
    let store = try Store(folder: folder, journal: journal, clock: StoreClock(now: { TestStore.time })) {
      for each in $0 { each() }
    }
    #expect(store.position == "3")
    #expect(try await store.write { try $0.messages.append(draft("next")).seq } == 3)
    let state = try store.replicatedState()
    store.close()
    #expect(try fill(other, journal.groups) == state.hash)
  }

  // MARK: New logs

  private func epoch(of folder: String) throws -> String? {
    let queue = try DatabaseQueue(path: folder + "/stillwire.db")
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction { try String.fetchOne($0, sql: "SELECT epoch FROM rooms") }
  }

  @Test func `a new log from another log's file begins new epochs, and cancels the pushes`() async throws {
    try fill(folder, try await groups())
    let replica = try Replica(folder: folder)
    let hash = try replica.hash()
    #expect(try replica.beginLog(at: "new 1") == .restored)
    #expect(replica.position == "new 1")
    #expect(try replica.hash() != hash)
    replica.close()
    #expect(try epoch(of: folder) != "epoch")
    let store = try Store(folder: folder, journal: MemoryJournal()) { _ in }
    defer { store.close() }
    #expect(store.position == "new 1")
    #expect(try await store.read { try $0.queue.jobCounts() } == [.cancelled: 2])
  }

  @Test(arguments: [true, false]) func `a new log from a single node's file keeps the epochs`(isComplete: Bool)
    async throws
  {
    let store = try Store(folder: folder, clock: StoreClock(now: { TestStore.time })) {
      for completion in $0 { completion() }
    }
    try await store.write { try $0.prepareRoom() }
    store.close()
    // Without the file of the run, the database may be a backup.
    if !isComplete { try files.removeItem(atPath: folder + "/" + RunRecord.name) }
    let replica = try Replica(folder: folder)
    #expect(try replica.beginLog(at: "1") == (isComplete ? nil : .restored))
    replica.close()
    #expect(try (epoch(of: folder) == "epoch") == isComplete)
  }

  // MARK: Migrations

  private static let nextMigration = {
    var migrator = Schema.migrator
    migrator.registerMigration("0.2.0") { db in
      try db.execute(
        sql: """
          ALTER TABLE rooms ADD COLUMN topic TEXT NOT NULL DEFAULT 'none';
          CREATE TABLE topics (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
          INSERT INTO topics VALUES ('none');
          """)
    }
    return migrator
  }()

  @Test func `a migration runs when the log names it, and rows of both schemas can be applied`() async throws {
    let groups = try await groups()
    try fill(folder, Array(groups.prefix(2)))
    let replica = try Replica(folder: folder, migrator: Self.nextMigration)
    defer { replica.close() }
    // An existing file is not migrated when it is opened.
    #expect(replica.migrations == ["0.1.0"])
    try replica.apply([groups[2]], position: "3")
    try replica.migrate("0.2.0", position: "4")
    #expect(replica.migrations == ["0.1.0", "0.2.0"])
    #expect(replica.position == "4")
    // A crash between the migration and the position repeats the record.
    try replica.migrate("0.2.0", position: "4")
    #expect(throws: StoreError.newerSchema(path: path)) { try replica.migrate("0.3.0", position: "5") }
    #expect(replica.position == "4")

    // The rows of a leader with the new schema.
    try fill(other, groups)
    let leader = try Replica(folder: other, migrator: Self.nextMigration)
    try leader.migrate("0.2.0", position: "4")
    leader.close()
    let queue = try DatabaseQueue(path: other + "/stillwire.db")
    let rows = try await queue.writeWithoutTransaction { db in
      let capture = try RowCapture(db, limit: JournaledRows.maxSize, foreign: [])
      defer { capture.close() }
      try db.execute(sql: "UPDATE rooms SET topic = 'tea'; INSERT INTO topics VALUES ('tea')")
      return try capture.changes()
    }
    let hash = try await queue.read { try ReplicatedTables.hash($0, foreign: []) }
    try queue.close()
    try replica.apply([rows], position: "5")
    #expect(try replica.hash() == hash)
  }

  // MARK: Tables of other programs

  @Test func `the tables of another program stay in their file, and no group contains them`() async throws {
    let groups = try await groups()
    try fill(other, groups)
    try fill(folder, Array(groups.prefix(1)))
    try createForeignTables(folder)
    let replica = try Replica(folder: folder)
    #expect(replica.foreignTables == ["_litestream_lock", "_litestream_seq"])
    for (index, group) in groups.enumerated().dropFirst() { try replica.apply([group], position: "\(index + 1)") }
    let hash = try replica.hash()
    replica.close()
    let plain = try Replica(folder: other)
    defer { plain.close() }
    #expect(plain.foreignTables == [])
    #expect(try plain.hash() == hash)
  }

  @Test func `a leader captures its own tables beside those of another program`() async throws {
    try followLog(folder)
    try createForeignTables(folder)
    let journal = MemoryJournal()
    let store = try Store(folder: folder, journal: journal) { for completion in $0 { completion() } }
    #expect(store.foreignTables == ["_litestream_lock", "_litestream_seq"])
    try await store.write { try $0.prepareRoom() }
    let state = try store.replicatedState()
    store.close()
    try fill(other, journal.groups)
    let replica = try Replica(folder: other)
    defer { replica.close() }
    #expect(try replica.hash() == state.hash)
  }

  @Test func `a table that cannot be replicated is named`() throws {
    try followLog(folder)
    var migrator = Schema.migrator
    migrator.registerMigration("0.2.0") { try $0.execute(sql: "CREATE TABLE loose (id INTEGER)") }
    let replica = try Replica(folder: folder, migrator: migrator)
    defer { replica.close() }
    #expect(throws: StoreError.unusable(path: path, reason: "table loose has no PRIMARY KEY")) {
      try replica.migrate("0.2.0", position: "1")
    }
  }

  /// Creates the tables of Litestream 0.5.
  private func createForeignTables(_ folder: String) throws {
    let queue = try DatabaseQueue(path: folder + "/stillwire.db")
    try queue.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
          CREATE TABLE _litestream_lock (id INTEGER);
          INSERT INTO _litestream_seq VALUES (1, 1);
          """)
    }
    try queue.close()
  }

  // MARK: Copies

  @Test func `a copy during writes has the state of one position`() async throws {
    let groups = try await groups(300)
    let hashes = Mutex<[String: String]>([:])
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    try replica.setPosition("0")
    try hashes.withLock { $0["0"] = try replica.hash() }
    let writes = Task.detached {
      for (index, group) in groups.enumerated() {
        try replica.apply([group], position: "\(index + 1)")
        try hashes.withLock { $0["\(index + 1)"] = try replica.hash() }
      }
    }
    var copies: [(String?, String)] = []
    for number in 0..<12 {
      let copy = folder + "/copy-\(number)"
      copies.append((try replica.copy(to: copy), copy))
    }
    try await writes.value
    for (position, copy) in copies {
      #expect(!files.fileExists(atPath: copy + "-wal"))
      try Replica.install(copy, folder: other)
      let installed = try Replica(folder: other)
      #expect(installed.position == position)
      #expect(try installed.hash() == hashes.withLock { $0[position ?? ""] })
      installed.close()
    }
  }

  @Test func `a store can be copied, with the secret`() async throws {
    let test = try TestStore(journal: MemoryJournal())
    try await test.write { try $0.prepareRoom() }
    let copy = temporaryPath()
    #expect(try Replica.copy(folder: test.folder, to: copy) == "1")
    let permissions = try files.attributesOfItem(atPath: copy)[.posixPermissions] as? NSNumber
    #expect(permissions?.intValue == 0o600)
    #expect(try Replica.position(ofCopy: copy) == "1")
    // An older copy is replaced.
    try await test.write { _ = try $0.messages.append(draft()) }
    #expect(try Replica.copy(folder: test.folder, to: copy) == "2")
    try Replica.install(copy, folder: folder)
    #expect(!files.fileExists(atPath: copy))
    let store = try Store(folder: folder, journal: MemoryJournal()) { _ in }
    defer { store.close() }
    #expect(store.secret == test.store.secret)
    #expect(try store.replicatedState() == test.store.replicatedState())
  }

  @Test func `a copy that cannot be written leaves no file`() throws {
    try followLog(folder)
    #expect(throws: StoreError.self) { try Replica.copy(folder: self.folder, to: self.folder + "/none/copy") }
    #expect(throws: StoreError.self) { try Replica.copy(folder: self.other, to: self.folder + "/copy") }
    #expect(!files.fileExists(atPath: folder + "/copy"))
  }

  @Test func `a file knows that its log has had a snapshot`() async throws {
    try fill(folder, try await groups())
    let replica = try Replica(folder: folder)
    #expect(try !replica.hasSnapshot)
    let copy = temporaryPath()
    _ = try replica.copy(to: copy)
    try replica.noteSnapshot()
    #expect(try replica.hasSnapshot)
    // A new log has none.
    try replica.beginLog(at: "1")
    #expect(try !replica.hasSnapshot)
    replica.close()
    // The copy is the snapshot.
    try Replica.install(copy, folder: other)
    let installed = try Replica(folder: other)
    defer { installed.close() }
    #expect(try installed.hasSnapshot)
    #expect(installed.position == "3")
  }

  @Test func `the clock for keys of a single node continues in the log that begins with its file`() async throws {
    let clocks = TestClocks()
    let store = try Store(folder: folder, clock: clocks.store) { for completion in $0 { completion() } }
    clocks.set(by: .seconds(7_000))
    try await store.write { transaction in
      try transaction.prepareRoom()
      try transaction.noteClock()
    }
    store.close()
    clocks.pass(.seconds(60))
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(try replica.keyTime(at: clocks.store) == TestStore.time + .seconds(60))
  }

  // MARK: Installation

  /// The damages of a copy.
  enum Damage: CaseIterable {
    case missing, empty, text, truncated, overwritten, otherProgram, newerRelease, noTables, folder

    func apply(to path: String) throws {
      let url = URL(filePath: path)
      let bytes = try Data(contentsOf: url)
      func execute(_ sql: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
      }
      switch self {
      case .missing: try FileManager.default.removeItem(atPath: path)
      case .empty: try Data().write(to: url)
      case .text: try Data(repeating: 0x41, count: 10_000).write(to: url)
      case .truncated: try bytes.prefix(bytes.count / 2).write(to: url)
      case .overwritten:
        // Keeps the first pages, with the schema.
        var damaged = bytes
        for index in bytes.indices.dropFirst(65_536) { damaged[index] = 0x41 }
        try damaged.write(to: url)
      case .otherProgram: try execute("PRAGMA application_id = 77")
      case .newerRelease: try execute("INSERT INTO grdb_migrations VALUES ('of the future')")
      case .noTables:
        try FileManager.default.removeItem(atPath: path)
        try execute("PRAGMA application_id = \(DatabaseOrigin.applicationID); CREATE TABLE songs (name TEXT)")
      case .folder:
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      }
    }
  }

  @Test(arguments: Damage.allCases) func `a damaged copy is refused, and the database stays`(damage: Damage)
    async throws
  {
    let groups = try await groups()
    let hash = try fill(folder, groups)
    let source = try Replica(folder: other)
    let copy = folder + "/copy"
    _ = try source.copy(to: copy)
    source.close()
    try damage.apply(to: copy)
    #expect(throws: StoreError.self) { try Replica.install(copy, folder: self.folder) }
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(try replica.hash() == hash)
    #expect(replica.position == "3")
  }

  @Test func `a copy replaces a damaged database`() async throws {
    let groups = try await groups(200)
    let hash = try fill(other, groups)
    let source = try Replica(folder: other)
    let copy = folder + "/copy"
    try fill(folder, Array(groups.dropLast()))
    let damaged = try Replica(folder: folder)
    _ = try source.copy(to: copy)
    source.close()
    try Damage.overwritten.apply(to: path)
    #expect(throws: ReplicaError.self) { try damaged.apply(groups.suffix(1), position: "200") }
    damaged.close()
    try Replica.install(copy, folder: folder)
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(try replica.hash() == hash)
  }

  @Test func `a kept database stays beside the copy that replaces it`() async throws {
    let groups = try await groups(20)
    let hash = try fill(other, groups)
    let source = try Replica(folder: other)
    let copy = other + "/copy"
    _ = try source.copy(to: copy)
    source.close()
    for count in [5, 10] {
      let old = try fill(folder, Array(groups.prefix(count)))
      let kept = try Replica.keep(folder: folder)
      #expect(kept == path + ".diverged")
      try files.copyItem(atPath: copy, toPath: copy + "\(count)")
      try Replica.install(copy + "\(count)", folder: folder)
      let replica = try Replica(folder: folder)
      #expect(try replica.hash() == hash)
      replica.close()
      // An operator opens it.
      let evidence = temporaryPath()
      try files.createDirectory(atPath: evidence, withIntermediateDirectories: true)
      try files.copyItem(atPath: kept, toPath: evidence + "/stillwire.db")
      let opened = try Replica(folder: evidence)
      #expect(try opened.hash() == old)
      opened.close()
      try files.removeItem(atPath: path)
    }
  }

  @Test func `a folder in use keeps no database`() throws {
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(throws: StoreError.inUse(path: folder)) { try Replica.keep(folder: self.folder) }
  }

  @Test func `a folder in use refuses a copy`() throws {
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    let copy = folder + "/copy"
    _ = try replica.copy(to: copy)
    #expect(throws: StoreError.inUse(path: folder)) { try Replica.install(copy, folder: self.folder) }
    #expect(files.fileExists(atPath: copy))
  }

  @Test(arguments: 0...CopyInstallation.Step.allCases.count)
  func `a crash during an installation leaves the old database or the new one`(steps: Int) async throws {
    // The old database, with a log whose groups are not in the main file.
    let groups = try await groups(9)
    let old = try Replica(folder: folder)
    try old.apply(Array(groups.prefix(8)), position: "8")
    let oldHash = try old.hash()
    try copyFiles(after: "crash")
    let facts = try files.attributesOfItem(atPath: other + "/stillwire.db-wal")
    #expect((facts[.size] as? NSNumber)?.intValue ?? 0 > 50_000)
    old.close()
    try files.removeItem(atPath: folder)
    // The new one.
    let newHash = try fill(folder, groups)
    let copy = other + "/copy"
    #expect(try Replica.copy(folder: folder, to: copy) == "9")

    try CopyInstallation.install(
      copy, at: other + "/stillwire.db", steps: CopyInstallation.Step.allCases.prefix(steps))
    let replica = try Replica(folder: other)
    defer { replica.close() }
    #expect(replica.position == (steps == 0 ? "8" : "9"))
    #expect(try replica.hash() == (steps == 0 ? oldHash : newHash))
    #expect(!files.fileExists(atPath: other + "/stillwire.db.installed"))
  }

  @Test func `a single node ends an interrupted installation, too`() async throws {
    let newHash = try fill(folder, try await groups())
    let copy = other + "/copy"
    try followLog(other)
    _ = try Replica.copy(folder: folder, to: copy)
    try CopyInstallation.install(copy, at: other + "/stillwire.db", steps: [.stage])
    let store = try Store(folder: other, journal: MemoryJournal()) { _ in }
    defer { store.close() }
    #expect(try store.replicatedState().hash == newHash)
  }

  @Test func `a link to the database stays a link`() async throws {
    let volume = temporaryPath()
    defer { try? files.removeItem(atPath: volume) }
    try followLog(folder)
    try files.createDirectory(atPath: volume, withIntermediateDirectories: true)
    try files.moveItem(atPath: path, toPath: volume + "/stillwire.db")
    try files.createSymbolicLink(atPath: path, withDestinationPath: volume + "/stillwire.db")
    let hash = try fill(other, try await groups())
    let copy = volume + "/copy"
    _ = try Replica.copy(folder: other, to: copy)
    try Replica.install(copy, folder: folder)
    #expect(try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeSymbolicLink)
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(try replica.hash() == hash)
  }
}
