// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// Database files that are removed, replaced, or made by another program.
@Suite final class DatabaseFilesTests {
  /// A path that only this test uses. It does not exist yet.
  private let folder = temporaryPath()
  private let files = FileManager.default
  private var path: String { folder + "/stillwire.db" }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func open() throws(StoreError) -> Store {
    try Store(folder: folder) { for completion in $0 { completion() } }
  }

  private func makeFolder() throws { try files.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  // MARK: While the store runs

  @Test(arguments: ["/stillwire.db", "/stillwire.db-wal", ""])
  func `the store acknowledges nothing after a file was removed`(name: String) async throws {
    let store = try open()
    defer { store.close() }
    try await store.write { try $0.prepareRoom() }
    let moved = temporaryPath()
    defer { try? files.removeItem(atPath: moved) }
    try files.moveItem(atPath: folder + name, toPath: moved)
    let error = await #expect(throws: StoreError.self) { try await store.write { try $0.messages.append(draft()) } }
    #expect(error?.code == .unavailable)
    #expect(error?.description.contains("was removed or replaced") == true)
    #expect(!store.statistics.isAvailable)
    // The store continues without a gap after the file is back.
    try files.moveItem(atPath: moved, toPath: folder + name)
    #expect(try await store.write { try $0.messages.append(draft()).seq } == 1)
    #expect(store.statistics.isAvailable)
  }

  @Test func `only a commit shows that the store is available again`() async throws {
    let store = try open()
    defer { store.close() }
    let moved = temporaryPath()
    try files.moveItem(atPath: folder + "/stillwire.db", toPath: moved)
    #expect(store.checkFiles()?.code == .unavailable)
    try files.moveItem(atPath: moved, toPath: folder + "/stillwire.db")
    // The rules refuse this work, which is alone in its transaction.
    await #expect(throws: StoreError.noRoom(RoomID(unchecked: "none"))) {
      try await store.write { _ in throw StoreError.noRoom(RoomID(unchecked: "none")) } as Void
    }
    #expect(!store.statistics.isAvailable)
    try await store.write { try $0.prepareRoom() }
    #expect(store.statistics.isAvailable)
  }

  @Test func `a folder that replaced the data folder is noticed`() async throws {
    let store = try open()
    let moved = temporaryPath()
    defer { try? files.removeItem(atPath: moved) }
    try files.moveItem(atPath: folder, toPath: moved)
    try makeFolder()
    // The files of the database are the same.
    for name in ["stillwire.db", "stillwire.db-wal"] {
      try files.linkItem(atPath: "\(moved)/\(name)", toPath: "\(folder)/\(name)")
    }
    #expect(store.checkFiles() == .unavailable(reason: StoreError.lostFile(folder)))
    await #expect(throws: StoreError.self) { try await store.write { try $0.prepareRoom() } }
    store.close()
  }

  @Test func `the store does not write to a file that replaced the database`() async throws {
    let store = try open()
    defer { store.close() }
    try files.removeItem(atPath: path)
    try Data("other".utf8).write(to: URL(fileURLWithPath: path))
    await #expect(throws: StoreError.self) { try await store.write { try $0.prepareRoom() } }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("other".utf8))
  }

  @Test func `a check detects a removed file without a write`() async throws {
    let store = try open()
    defer { store.close() }
    store.checkFiles()
    #expect(store.statistics.isAvailable)
    try files.removeItem(atPath: folder)
    store.checkFiles()
    #expect(!store.statistics.isAvailable)
  }

  @Test func `a store whose folder was removed writes nothing into a new folder at its end`() async throws {
    let store = try open()
    try files.removeItem(atPath: folder)
    try makeFolder()
    store.close()
    #expect(try files.contentsOfDirectory(atPath: folder).isEmpty)
  }

  @Test func `a second store cannot open the folder after the lock file was removed`() throws {
    let store = try open()
    defer { store.close() }
    try files.removeItem(atPath: folder + "/stillwire.lock")
    #expect(throws: StoreError.inUse(path: folder)) { try open() }
  }

  // MARK: At the start

  @Test func `a link to a file that does not exist is refused`() throws {
    try makeFolder()
    try files.createSymbolicLink(atPath: path, withDestinationPath: folder + "/volume/stillwire.db")
    #expect(throws: StoreError.unusable(path: path, reason: "it is a link to a file that does not exist")) {
      try open()
    }
    #expect(!files.fileExists(atPath: folder + "/volume"))
  }

  @Test func `a link to a database is followed, and its files are checked`() async throws {
    try open().close()
    try makeFolderElsewhere()
    let store = try open()
    defer { store.close() }
    try await store.write { try $0.prepareRoom() }
    try files.removeItem(atPath: path)
    await #expect(throws: StoreError.self) { try await store.write { try $0.messages.append(draft()) } }
  }

  /// Moves the database into a folder of its own, and leaves a link.
  private func makeFolderElsewhere() throws {
    let volume = folder + "/volume"
    try files.createDirectory(atPath: volume, withIntermediateDirectories: true)
    try files.moveItem(atPath: path, toPath: volume + "/stillwire.db")
    try files.createSymbolicLink(atPath: path, withDestinationPath: volume + "/stillwire.db")
  }

  @Test(arguments: [
    "PRAGMA application_id = 77", "PRAGMA user_version = 3", "CREATE TABLE songs (name TEXT)",
    "CREATE TABLE grdb_migrations (identifier TEXT); CREATE TABLE users (id INTEGER)",
  ])
  func `a database of another program is refused and not changed`(sql: String) throws {
    try makeFolder()
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(throws: StoreError.unusable(path: path, reason: "it is a database of another program")) { try open() }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    #expect(!files.fileExists(atPath: path + "-wal"))
  }

  @Test func `the log of another program that has crashed is not changed`() throws {
    try makeFolder()
    let elsewhere = temporaryPath()
    try files.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: elsewhere) }
    let queue = try DatabaseQueue(path: elsewhere + "/songs.db")
    try queue.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('a')")
    }
    // The files after a crash: the log has commits that the database does not have.
    for end in ["", "-wal"] { try files.copyItem(atPath: elsewhere + "/songs.db" + end, toPath: path + end) }
    try queue.close()
    let before = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: path + $0)) }
    #expect(!before[1].isEmpty)
    #expect(throws: StoreError.unusable(path: path, reason: "it is a database of another program")) { try open() }
    #expect(try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: path + $0)) } == before)
  }

  @Test func `a store that has crashed opens with its log`() async throws {
    let elsewhere = temporaryPath()
    defer { try? files.removeItem(atPath: elsewhere) }
    let store = try Store(folder: elsewhere) { for completion in $0 { completion() } }
    try await store.write { try $0.prepareRoom() }
    try makeFolder()
    for name in ["stillwire.db", "stillwire.db-wal", "stillwire.run"] {
      try files.copyItem(atPath: elsewhere + "/" + name, toPath: folder + "/" + name)
    }
    store.close()
    let next = try open()
    defer { next.close() }
    #expect(try await next.read { try $0.rooms.snapshot(room) } != nil)
    #expect(next.loss == nil)
  }

  @Test func `a folder with the name of the database is refused`() throws {
    try files.createDirectory(atPath: path, withIntermediateDirectories: true)
    #expect(throws: StoreError.unusable(path: path, reason: "it is not a file")) { try open() }
  }

  @Test func `an interrupted first start is completed`() throws {
    try makeFolder()
    #expect(files.createFile(atPath: path, contents: nil))
    try open().close()
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    #expect(try queue.read { try Int32.fetchOne($0, sql: "PRAGMA application_id") } == DatabaseOrigin.applicationID)
  }
}
