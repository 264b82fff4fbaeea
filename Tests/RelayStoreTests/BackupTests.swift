// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// Backups of a data folder, and their restore.
@Suite final class BackupTests {
  /// A folder that only this test uses, and paths in it. They do not exist yet.
  private let place = temporaryPath()
  private let files = FileManager.default
  private var backup: String { place + "/backup.db" }
  private var folder: String { place + "/data" }
  private var database: String { folder + "/stillwire.db" }

  init() throws { try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: place) }

  /// Stores this number of messages in a folder, as a run of a relay that ends.
  private func run(_ folder: String, messages: Int = 1) async throws {
    let store = try Store(folder: folder) { for completion in $0 { completion() } }
    defer { store.close() }
    try await store.write { transaction in
      if try !transaction.db.has("SELECT 1 FROM rooms") { try transaction.prepareRoom() }
      for number in 0..<messages { _ = try transaction.messages.append(draft("\(number)", jobs: [job()])) }
    }
  }

  /// Makes a backup of a relay that has stored this number of messages, at `backup`.
  private func makeBackup(messages: Int) async throws {
    try await run(place + "/other", messages: messages)
    _ = try Backup.make(folder: place + "/other", at: backup, replaces: false)
  }

  private func messages(_ database: String) throws -> Int? {
    let queue = try DatabaseQueue(path: database)
    defer { try? queue.close() }
    return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM messages") }
  }

  private func execute(_ sql: String, _ database: String) throws {
    let queue = try DatabaseQueue(path: database)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  private func exists(_ path: String) -> Bool { files.fileExists(atPath: path) }

  /// Returns the error of a backup of `folder`. The backup must leave no files.
  private func errorOfBackup(_ path: String, replaces: Bool = false) throws -> String {
    let before = try files.contentsOfDirectory(atPath: place).sorted()
    let error = #expect(throws: BackupError.self) {
      try Backup.make(folder: self.folder, at: path, replaces: replaces)
    }
    #expect(try files.contentsOfDirectory(atPath: place).sorted() == before)
    return error?.description ?? ""
  }

  /// Returns the error of a restore to `folder`. The restore must leave the folder as it is.
  private func errorOfRestore(_ path: String) throws -> String {
    func state() throws -> [String: Data?] {
      let names = try files.contentsOfDirectory(atPath: folder).filter {
        !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal")
      }
      return Dictionary(uniqueKeysWithValues: names.map { ($0, files.contents(atPath: folder + "/" + $0)) })
    }
    let before = try state()
    let error = #expect(throws: BackupError.self) { try Backup.restore(path, to: self.folder) }
    #expect(try state() == before)
    return error?.description ?? ""
  }

  // MARK: Backups

  @Test func `a backup of a store in use is a single private file with all rows`() async throws {
    let test = try await TestStore.withMessages(3)
    let contents = try Backup.make(folder: test.folder, at: backup, replaces: false)
    #expect(contents.messages == 3)
    #expect(contents.rooms == 1)
    #expect(contents.users > 0)
    #expect(contents.newestMessage == "2023-11-14T22:13:20Z")
    #expect(!contents.isOfCluster)
    #expect(try files.contentsOfDirectory(atPath: place) == ["backup.db"])
    let facts = try files.attributesOfItem(atPath: backup)
    #expect(facts[.posixPermissions] as? Int == 0o600)
    #expect(facts[.size] as? Int64 == contents.size)
    #expect(try messages(backup) == 3)
    // The store still works.
    try await test.write { _ = try $0.messages.append(draft()) }
    #expect(try Backup.make(folder: test.folder, at: backup, replaces: true).messages == 4)
  }

  @Test func `a backup of a store without messages has no newest message`() async throws {
    try await run(folder, messages: 0)
    let contents = try Backup.make(folder: folder, at: backup, replaces: false)
    #expect(contents.messages == 0)
    #expect(contents.newestMessage == nil)
  }

  @Test func `a backup of a node of a cluster says so`() async throws {
    try followLog(folder)
    #expect(try Backup.make(folder: folder, at: backup, replaces: false).isOfCluster)
  }

  @Test func `names that a backup must not replace are refused`() async throws {
    try await run(folder)
    try Data("mine".utf8).write(to: URL(filePath: backup))
    #expect(try errorOfBackup(backup).contains("--force"))
    #expect(files.contents(atPath: backup) == Data("mine".utf8))
    #expect(try errorOfBackup(place, replaces: true).contains("is a folder"))
    #expect(try errorOfBackup(place + "/none/backup.db").contains("No such file"))
    for name in ["stillwire.db", "stillwire.db-wal", "stillwire.run"] {
      #expect(try errorOfBackup(folder + "/" + name, replaces: true).contains("own files"))
      #expect(try errorOfBackup(folder + "/../data/" + name, replaces: true).contains("own files"))
    }
    _ = try Backup.make(folder: folder, at: folder + "/backup.db", replaces: false)
    _ = try Backup.make(folder: folder, at: backup, replaces: true)
    #expect(try messages(backup) == 1)
  }

  @Test func `a folder without a database has no backup, and gets none`() throws {
    #expect(try errorOfBackup(backup).contains("--data"))
    #expect(!exists(folder))
  }

  private func makeWorkingFolder(_ mode: Int = 0o700) throws {
    try files.createDirectory(
      atPath: backup + Backup.working, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
  }

  @Test(arguments: [(0o755, "stillwire.db"), (0o700, "stillwire.run"), (0o700, "mine")])
  func `a folder that no backup has made keeps its files`(mode: Int, name: String) async throws {
    try await run(folder)
    try makeWorkingFolder(mode)
    let file = backup + Backup.working + "/" + name
    try Data("mine".utf8).write(to: URL(filePath: file))
    #expect(try errorOfBackup(backup).contains("is not the rest of a backup"))
    #expect(files.contents(atPath: file) == Data("mine".utf8))
  }

  @Test func `a link in the place of the lock file leads nowhere`() async throws {
    try await run(folder)
    let target = place + "/target"
    try Data().write(to: URL(filePath: target))
    try files.removeItem(atPath: folder + "/stillwire.lock")
    try files.createSymbolicLink(atPath: folder + "/stillwire.lock", withDestinationPath: target)
    #expect(throws: StoreError.self) { _ = try FolderLock(folder: folder) }
  }

  @Test func `two backups to one file exclude each other, and the rest of a killed one is removed`() async throws {
    try await run(folder)
    try makeWorkingFolder()
    let other = try FolderLock(folder: backup + Backup.working)
    #expect(try errorOfBackup(backup).contains("another backup writes"))
    other.release()
    for name in ["stillwire.db", "stillwire.db-journal"] {
      try Data(repeating: 7, count: 9_000).write(to: URL(filePath: backup + Backup.working + "/" + name))
    }
    _ = try Backup.make(folder: folder, at: backup, replaces: false)
    #expect(try messages(backup) == 1)
    #expect(!exists(backup + Backup.working))
  }

  @Test func `an index that does not fit its table prevents a backup`() async throws {
    try await run(folder)
    let swap = """
      CREATE TABLE extra (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER);
      INSERT INTO extra VALUES (1, 1, 1);
      CREATE INDEX extra_a ON extra (a);
      CREATE INDEX extra_b ON extra (b) WHERE b > 9;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (
        SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('extra_a', 'extra_b')) - rootpage
      WHERE name IN ('extra_a', 'extra_b');
      """
    try execute(swap, database)
    let error = try errorOfBackup(backup)
    #expect(error.contains("extra_a"))
    #expect(error.contains(database))
    // It is no damage for SQLite's check of the pages.
    #expect(throws: Never.self) { try Replica.copy(folder: self.folder, to: self.place + "/copy") }
  }

  @Test func `a database of a newer release, and one of another program, have no backup`() async throws {
    try await run(folder)
    try execute("INSERT INTO grdb_migrations VALUES ('of the future')", database)
    #expect(try errorOfBackup(backup).contains("newer release"))
    try execute("PRAGMA application_id = 77", database)
    #expect(try errorOfBackup(backup).contains("another program"))
  }

  @Test(arguments: CopyInstallation.Replacement.allCases)
  func `an interrupted installation must end before a backup`(replacement: CopyInstallation.Replacement) async throws {
    try await run(folder)
    try Data().write(to: URL(filePath: database + replacement.rawValue))
    #expect(try errorOfBackup(backup).contains("was interrupted"))
  }

  // MARK: Restores

  @Test func `a restore keeps each earlier database, and the next run notices it`() async throws {
    try await makeBackup(messages: 2)
    try await run(folder, messages: 5)
    let kept = (1...2).map { "\(database).before-\($0)" }
    var restored = try Backup.restore(backup, to: folder)
    #expect(restored.kept == kept[0])
    #expect(restored.contents.messages == 2)
    restored = try Backup.restore(backup, to: folder)
    #expect(restored.kept == kept[1])
    #expect(try kept.map(messages) == [5, 2])
    #expect(exists(backup))
    #expect(try files.attributesOfItem(atPath: database)[.posixPermissions] as? Int == 0o600)

    let store = try Store(folder: folder) { _ in }
    #expect(store.loss == .restored)
    #expect(try await store.read { try $0.queue.jobCounts() } == [.cancelled: 2])
    store.close()
    let again = try Store(folder: folder) { _ in }
    defer { again.close() }
    #expect(again.loss == nil)
  }

  /// The files that the run before a restore may have left.
  @Test(arguments: [nil, "stillwire 3 another-boot normal open\n", "stillwire 9000 another-boot full closed\n"])
  func `a run notices the restore, whatever the file of the run contains`(run text: String?) async throws {
    try await makeBackup(messages: 1)
    _ = try Backup.restore(backup, to: folder)
    if let text { try text.write(toFile: folder + "/" + RunRecord.name, atomically: true, encoding: .utf8) }
    for loss in [.restored, nil] as [DataLoss?] {
      let store = try Store(folder: folder) { _ in }
      #expect(store.loss == loss)
      store.close()
    }
  }

  @Test func `a restored backup of a node follows no log`() throws {
    try followLog(place + "/other")
    _ = try Backup.make(folder: place + "/other", at: backup, replaces: false)
    #expect(try Backup.restore(backup, to: folder).contents.isOfCluster)
    let replica = try Replica(folder: folder)
    defer { replica.close() }
    #expect(replica.position == nil)
    #expect(try replica.beginLog(at: "1") == .restored)
  }

  @Test(arguments: ReplicaTests.Damage.allCases)
  func `a file that is no complete backup is refused`(damage: ReplicaTests.Damage) async throws {
    try await makeBackup(messages: 200)
    try await run(folder, messages: 5)
    try damage.apply(to: backup)
    let reason =
      switch damage {
      case .missing: "does not exist"
      case .folder: "is not a file"
      case .empty, .noTables: "not a copy of a relay's database"
      case .text, .truncated, .overwritten: "is damaged"
      case .otherProgram: "another program"
      case .newerRelease: "newer release"
      }
    #expect(try errorOfRestore(backup).contains(reason))
    #expect(try messages(database) == 5)
  }

  @Test func `a folder in use, and the present database, are refused`() async throws {
    try await makeBackup(messages: 2)
    try await run(folder, messages: 5)
    #expect(try errorOfRestore(database).contains("is the present database"))
    let store = try Store(folder: folder) { _ in }
    #expect(try errorOfRestore(backup).contains("stop it first"))
    store.close()
    #expect(try messages(database) == 5)
  }

  @Test func `a backup replaces a damaged database, which stays`() async throws {
    try await makeBackup(messages: 2)
    try await run(folder, messages: 200)
    try ReplicaTests.Damage.overwritten.apply(to: database)
    let damaged = files.contents(atPath: database)
    let kept = try #require(try Backup.restore(backup, to: folder).kept)
    #expect(files.contents(atPath: kept) == damaged)
    #expect(try messages(database) == 2)
  }

  @Test func `a new folder gets its database, and the copy of a killed restore is removed`() async throws {
    try await makeBackup(messages: 2)
    #expect(try Backup.restore(backup, to: folder).kept == nil)
    try Data(repeating: 7, count: 9_000).write(to: URL(filePath: CopyInstallation.incoming(database)))
    let store = try Store(folder: folder) { _ in }
    store.close()
    #expect(!exists(CopyInstallation.incoming(database)))
    #expect(try messages(database) == 2)
  }

  @Test(.enabled(if: geteuid() == 0)) func `the owner of the folder owns what the superuser restores`() async throws {
    try await makeBackup(messages: 2)
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(chown(folder, 4_711, 4_712) == 0)
    _ = try Backup.restore(backup, to: folder)
    for name in try files.contentsOfDirectory(atPath: folder) {
      let facts = try files.attributesOfItem(atPath: folder + "/" + name)
      #expect(facts[.ownerAccountID] as? Int == 4_711, "\(name)")
      #expect(facts[.groupOwnerAccountID] as? Int == 4_712, "\(name)")
    }
  }

  @Test func `a link to the database stays a link`() async throws {
    try await makeBackup(messages: 2)
    try await run(folder, messages: 5)
    let volume = place + "/volume.db"
    try files.moveItem(atPath: database, toPath: volume)
    try files.createSymbolicLink(atPath: database, withDestinationPath: volume)
    let kept = try #require(try Backup.restore(backup, to: folder).kept)
    #expect(try files.attributesOfItem(atPath: database)[.type] as? FileAttributeType == .typeSymbolicLink)
    #expect(try messages(kept) == 5)
    #expect(try messages(volume) == 2)
    #expect(try errorOfBackup(place + "/stillwire.new").contains("own files"))
  }

  @Test(arguments: 0...CopyInstallation.Step.allCases.count)
  func `a crash during a restore leaves the old database, or the new one and the old one beside it`(
    steps: Int
  ) async throws {
    try await makeBackup(messages: 2)
    // The messages are only in the write-ahead log.
    let test = try await TestStore.withMessages(5)
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["stillwire.db", "stillwire.db-wal"] {
      try files.copyItem(atPath: test.folder + "/" + name, toPath: folder + "/" + name)
    }
    try CopyInstallation.install(
      backup, at: database, .keeping, steps: CopyInstallation.Step.allCases.prefix(steps))
    let store = try Store(folder: folder) { _ in }
    store.close()
    #expect(try messages(database) == (steps == 0 ? 5 : 2))
    let kept = try files.contentsOfDirectory(atPath: folder).filter { $0.contains(".before-") }.sorted()
    #expect(kept.first == (steps == 0 ? nil : "stillwire.db.before-1"))
    if steps > 0 { #expect(try messages(folder + "/stillwire.db.before-1") == 5) }
    #expect(!exists(folder + "/stillwire.db.before-2"))
  }

  @Test func `a database that cannot be kept is not replaced`() async throws {
    try await makeBackup(messages: 2)
    try await run(folder, messages: 5)
    // SQLite's names beside the kept database are taken.
    try files.createDirectory(atPath: database + ".before-1-wal", withIntermediateDirectories: true)
    _ = try errorOfRestore(backup)
    let store = try Store(folder: folder) { _ in }
    #expect(store.loss == nil)
    store.close()
    #expect(try messages(database) == 5)
  }
}
