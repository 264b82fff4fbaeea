// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol
import Testing

@testable import RelayStore

/// A database that has lost commits which an earlier run has acknowledged.
@Suite final class DataLossTests {
  /// A path that only this test uses. It does not exist yet.
  private let folder = temporaryPath()
  private let backup = temporaryPath()
  deinit {
    for path in [folder, backup] { try? FileManager.default.removeItem(atPath: path) }
  }

  // MARK: The decision

  struct Case: Sendable {
    let words: String
    var file: RunRecord?
    var counter: Int64 = 7
    var boot = "boot"
    var isReplica = false
    let loss: DataLoss?
  }

  @Test(arguments: [
    Case(words: "a new database", file: nil, counter: 0, loss: nil),
    Case(words: "a backup in a new folder", file: nil, loss: .restored),
    Case(words: "a clean end", file: run(7, isClosed: true), loss: nil),
    Case(words: "a crash", file: run(7), loss: nil),
    Case(words: "a crash between the commit and the file", file: run(6), loss: nil),
    Case(words: "a backup of the same run, after a clean end", file: run(8, isClosed: true), loss: .restored),
    Case(words: "a backup of the same run, after a crash", file: run(8), loss: .restored),
    Case(words: "an empty database in the folder of another", file: run(7), counter: 0, loss: .restored),
    Case(words: "a loss of power with every commit forced", file: run(7, boot: "before"), loss: nil),
    Case(words: "a loss of power without", file: run(7, boot: "before", .normal), loss: .powerLoss),
    Case(
      words: "a loss of power that took as many counts as it can",
      file: run(7 + DataLoss.maxPowerLoss, boot: "before", .normal), loss: .powerLoss),
    Case(
      words: "a backup after a loss of power", file: run(8 + DataLoss.maxPowerLoss, boot: "before", .normal),
      loss: .restored),
    Case(words: "a clean end before the boot", file: run(7, boot: "before", .normal, isClosed: true), loss: nil),
    Case(words: "a crash of the process alone", file: run(7, .normal), loss: nil),
    Case(words: "a file that has left its cluster", file: run(7, isClosed: true), isReplica: true, loss: .restored),
    Case(words: "a crash on a system without ids", file: run(7, boot: "", .normal), boot: "", loss: .powerLoss),
  ])
  func `the file, the database and the boot determine the loss`(of example: Case) {
    let found = DataLoss.found(
      file: example.file, database: example.counter, boot: example.boot, isReplica: example.isReplica)
    #expect(found == example.loss, "\(example.words)")
  }

  @Test(arguments: [run(0), run(12, boot: "", .normal), run(RunRecord.maxCounter, isClosed: true)])
  func `a record can be written and read`(record: RunRecord) {
    #expect(RunRecord(record.text) == record)
    #expect(record.text.hasSuffix("\n") && record.text.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    "", "stillwire", "stillwire 1 boot full", "other 1 boot full open", "stillwire -1 boot full open",
    "stillwire 99999999999999999999 boot full open", "stillwire 9223372036854775807 boot full open",
    "stillwire 1 boot half open", "stillwire 1 boot full ajar", "stillwire 1 boot full open more",
  ])
  func `any other text is not a record`(text: String) {
    #expect(RunRecord(text) == nil)
  }

  // MARK: The store

  private func open(_ folder: String) throws(StoreError) -> Store {
    try Store(folder: folder, clock: StoreClock(now: { TestStore.time })) { for completion in $0 { completion() } }
  }

  /// Makes a room with a message whose push waits, and with an undecided message.
  private func fill(_ store: Store) async throws {
    try await store.write { transaction in
      try transaction.prepareRoom()
      _ = try transaction.messages.append(draft("one", jobs: [job()], cursorFollows: true))
      _ = try transaction.messages.append(draft("two"))
    }
  }

  private func copyDatabase(of store: Store) throws {
    try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: true)
    let target = try DatabaseQueue(path: backup + "/stillwire.db")
    try store.pool.backup(to: target)
    try target.close()
  }

  private func restore() throws {
    for name in ["stillwire.db", "stillwire.db-wal", "stillwire.db-shm"] {
      try? FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    try FileManager.default.copyItem(atPath: backup + "/stillwire.db", toPath: folder + "/stillwire.db")
  }

  private func expectNewBeginning(_ store: Store, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    #expect(store.loss == .restored, sourceLocation: sourceLocation)
    let state = try #require(try await store.read { try $0.rooms.snapshot(room)?.state })
    #expect(state.epoch != "epoch" && state.epoch.utf8.count == 16, sourceLocation: sourceLocation)
    #expect((state.seq, state.cursor) == (2, 2), sourceLocation: sourceLocation)
    #expect(try await store.read { try $0.queue.jobCounts() } == [.cancelled: 1], sourceLocation: sourceLocation)
    #expect(try await store.read { try $0.queue.nextDue() } == nil, sourceLocation: sourceLocation)
  }

  @Test func `the store detects a backup of the run that has ended cleanly`() async throws {
    let store = try open(folder)
    #expect(store.loss == nil)
    try await fill(store)
    try copyDatabase(of: store)
    _ = try await store.write { try $0.messages.append(draft("lost")) }
    store.close()
    try restore()
    let restored = try open(folder)
    try await expectNewBeginning(restored)
    restored.close()
    // The loss is found only once.
    let again = try open(folder)
    defer { again.close() }
    #expect(again.loss == nil)
  }

  @Test func `the store detects a backup of the run that has crashed`() async throws {
    let store = try open(folder)
    try await fill(store)
    try copyDatabase(of: store)
    let file = RunFile(folder: folder)
    let first = try #require(file.read()).counter
    // The counter is incremented while the store commits.
    while try #require(file.read()).counter == first {
      _ = try await store.write { try $0.messages.append(draft("lost")) }
    }
    let record = try #require(file.read())
    store.close()
    // The state after a crash.
    try file.write(record)
    try restore()
    let restored = try open(folder)
    defer { restored.close() }
    try await expectNewBeginning(restored)
  }

  @Test func `an interrupted first start is not a loss`() throws {
    // The file cannot be written, because a folder has the name of its draft.
    let draft = folder + "/" + RunRecord.name + ".new"
    try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: true)
    #expect(throws: StoreError.self) { try open(folder) }
    try FileManager.default.removeItem(atPath: draft)
    let store = try open(folder)
    defer { store.close() }
    #expect(store.loss == nil)
  }

  @Test func `the store detects a backup in a new folder`() async throws {
    let store = try open(folder)
    try await fill(store)
    try copyDatabase(of: store)
    store.close()
    let restored = try open(backup)
    defer { restored.close() }
    try await expectNewBeginning(restored)
  }

  @Test func `a loss of power starts new epochs and keeps the pushes`() async throws {
    let store = try open(folder)
    try await fill(store)
    store.close()
    let file = RunFile(folder: folder)
    var record = try #require(file.read())
    (record.boot, record.synchronous, record.isClosed) = ("before", .normal, false)
    try file.write(record)
    let next = try open(folder)
    defer { next.close() }
    #expect(next.loss == .powerLoss)
    #expect(try await next.read { try $0.rooms.snapshot(room)?.state.epoch } != "epoch")
    #expect(try await next.read { try $0.queue.jobCounts() } == [.ready: 1])
  }

  @Test func `an end, a crash and a start keep the epochs`() async throws {
    let store = try open(folder)
    try await fill(store)
    let file = RunFile(folder: folder)
    let record = try #require(file.read())
    #expect(!record.isClosed)
    store.close()
    let closed = try #require(file.read())
    #expect(closed.isClosed && closed.counter > record.counter)
    try file.write(RunRecord(counter: record.counter, boot: record.boot, synchronous: .full, isClosed: false))
    let next = try open(folder)
    defer { next.close() }
    #expect(next.loss == nil)
    #expect(
      try await next.read { try $0.rooms.snapshot(room)?.state }
        == RoomState(room: room, epoch: "epoch", seq: 2, cursor: 1))
    #expect(try await next.read { try $0.queue.jobCounts() } == [.ready: 1])
  }
}

private func run(
  _ counter: Int64, boot: String = "boot", _ synchronous: Synchronous = .full, isClosed: Bool = false
) -> RunRecord {
  RunRecord(counter: counter, boot: boot, synchronous: synchronous, isClosed: isClosed)
}
