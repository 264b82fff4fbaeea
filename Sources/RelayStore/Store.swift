// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import GRDB
public import RelayProtocol

/// Runs when a group is on disk; see ``Store/submit(_:completion:)``.
public typealias Completion = @Sendable () -> Void

/// The durability of a commit.
public enum Synchronous: String, Sendable, CaseIterable {
  /// A committed transaction survives a loss of power.
  case full
  /// A committed transaction survives a crash of the process. A loss of power may undo the newest ones.
  case normal
}

/// The relay's durable state: members, messages, focus, devices and push jobs, in one SQLite database.
///
/// One writer commits in groups: the work items that are submitted during a commit form the next transaction. Readers
/// run in parallel and see what was committed before they began. Every method may be called on any thread.
public final class Store: Sendable {
  /// 32 random bytes, created with the database and stored in it, so that signatures stay valid after a restart.
  public let secret: [UInt8]
  let pool: DatabasePool
  let writer: GroupCommit
  /// The loss of an earlier run's commits that was found when the database was opened. The store has then begun new
  /// epochs.
  public let loss: DataLoss?
  private let threads: StoreThreads
  private let reads: GroupRead
  private let lock: FolderLock

  /// Opens `stillwire.db` in `folder`, and creates both if they do not exist. Migrates the schema.
  ///
  /// - Parameters:
  ///   - now: The clock for work items whose caller gives no time.
  ///   - onCommit: Called once for each group, on the writer's thread, with the completions in the order of submission.
  ///     It must run each completion once. It must not call ``close()``.
  public convenience init(
    folder: String, synchronous: Synchronous = .full, now: @escaping @Sendable () -> Timestamp = Store.timeOfDay,
    onCommit: @escaping @Sendable ([Completion]) -> Void
  ) throws(StoreError) {
    try self.init(folder: folder, synchronous: synchronous, threads: .own, now: now, onCommit: onCommit)
  }

  /// - Parameter maxLog: The size of the write-ahead log, in bytes, above which the writer waits for readers to
  ///   restart it.
  init(
    folder: String, synchronous: Synchronous, maxLog: Int = 64 << 20, threads: StoreThreads = .own,
    now: @escaping @Sendable () -> Timestamp, onCommit: @escaping @Sendable ([Completion]) -> Void
  ) throws(StoreError) {
    do {
      // Other users of the machine must not read messages and tokens.
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .unusable(path: folder, reason: "the folder cannot be created")
    }
    lock = try FolderLock(folder: folder)
    let path = folder + "/stillwire.db"
    try DatabaseOrigin.check(path)
    pool = try Self.open(path, synchronous)
    secret = try Self.secret(pool, path)
    let files = try DatabaseFiles(database: path)
    let file = RunFile(folder: folder)
    let (record, loss) = try Self.begin(file, pool, path, synchronous, now: now())
    self.loss = loss
    self.threads = threads
    reads = GroupRead(pool, threads)
    writer = GroupCommit(
      log: LogBound(log: files.log, bound: maxLog), run: RunCounter(record, in: file), files: files, now: now,
      onCommit: onCommit)
  }

  /// The default clock: the system's time of day.
  public static let timeOfDay: @Sendable () -> Timestamp = {
    Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000))
  }

  /// Queues `work` for the next transaction.
  ///
  /// Work items run one after the other, in the order of submission. If one throws an error, only this item is undone
  /// and completed with its failure, and the others commit. If the commit fails, the whole group is undone, and each
  /// completion gets ``StoreError/unavailable(reason:)``.
  /// - Parameters:
  ///   - work: Runs on the writer's thread. It must not keep the transaction.
  ///   - rows: An estimate of the rows that the work writes. It limits the size of a transaction.
  ///   - isUrgent: False if nobody waits for the work. The work then waits up to ``maxWait`` for others, and
  ///     keeps its place in the order.
  ///   - completion: Passed to `onCommit` when the transaction is on disk or has failed.
  public func submit<T: Sendable>(
    _ work: @escaping @Sendable (Transaction) throws -> T, rows: Int = 1, isUrgent: Bool = true,
    completion: @escaping @Sendable (Result<T, StoreError>) -> Void
  ) {
    queue(
      .any(
        run: { transaction in
          let value = try work(transaction)
          return { completion(.success(value)) }
        },
        failed: { error in { completion(.failure(error)) } }),
      rows: rows, isUrgent: isUrgent)
  }

  /// The time that a work item that is not urgent waits for others. A commit of its own costs more than the work.
  static let maxWait = DispatchTimeInterval.milliseconds(50)

  /// Queues a message for the next transaction, with the effect of ``submit(_:rows:completion:)`` with
  /// ``MessageWriter/append(_:)``. It is faster, because the messages of a transaction share statements and row
  /// updates.
  public func append(_ draft: MessageDraft, completion: @escaping @Sendable (Result<Appended, StoreError>) -> Void) {
    queue(
      .message(GroupCommit.Message(draft, completion: completion)), rows: 1 + draft.jobs.count + draft.silenced.count)
  }

  private func queue(_ task: GroupCommit.Task, rows: Int, isUrgent: Bool = true) {
    // A simulation has no timers.
    let isUrgent = if case .own = threads { isUrgent } else { true }
    switch writer.append(GroupCommit.Work(rows: rows, task: task), isUrgent: isUrgent) {
    case .none: break
    case .now: Self.drain(writer, pool, threads)
    case .later:
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.maxWait) { [writer, pool, threads] in
        if writer.beginSetDrain() { Self.drain(writer, pool, threads) }
      }
    }
  }

  /// Commits one group after the other, each in its own turn, so that other users of the writer's thread get it in
  /// between.
  private static func drain(_ writer: GroupCommit, _ pool: DatabasePool, _ threads: StoreThreads) {
    threads.write(pool, writer.commitNext) { if writer.goesOn() { drain(writer, pool, threads) } }
  }

  /// Runs `work` in the next transaction, and returns when the transaction is on disk or has failed.
  ///
  /// The work is submitted before the caller suspends, so that the calls of an actor are stored in their order.
  /// - Parameter rows: An estimate of the rows that the work writes. It limits the size of a transaction.
  public nonisolated(nonsending) func write<T: Sendable>(
    rows: Int = 1, _ work: @escaping @Sendable (Transaction) throws -> T
  ) async throws(StoreError) -> T {
    let result = await withCheckedContinuation { continuation in
      submit(work, rows: rows) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Runs `work` on a reader, with one consistent snapshot of everything committed so far.
  public nonisolated(nonsending) func read<T: Sendable>(
    _ work: @escaping @Sendable (Reader) throws -> T
  ) async throws(StoreError) -> T {
    let result: Result<T, StoreError> = await withCheckedContinuation { continuation in
      reads.append { database in
        continuation.resume(
          returning: Result { try work(Reader(db: database.get())) }.mapError(StoreError.init(_:)))
      }
    }
    return try result.get()
  }

  /// Commits the queued work, runs the completions, and closes the files. Later work fails.
  ///
  /// Blocks until done. Must not be called within `onCommit`, a work item or a read.
  public func close() {
    guard writer.stop() else { return }
    // The barrier waits for the readers, so that the whole log can be moved into the database. If it fails, nothing is
    // lost, because the next start reads the log.
    let isClean = try? pool.barrierWriteWithoutTransaction { db in
      // Another thread may have appended a work item and not requested its drain yet.
      repeat { writer.commitNext(db) } while writer.goesOn()
      return writer.end(db)
    }
    try? pool.close()
    if isClean == true { writer.closeRun() }
    lock.release()
  }

  /// Begins a run: compares the database with the record of the earlier run, and increments the counter in both.
  private static func begin(
    _ file: RunFile, _ pool: DatabasePool, _ path: String, _ synchronous: Synchronous, now: Timestamp
  ) throws(StoreError) -> (RunRecord, DataLoss?) {
    let known = file.read()
    var record = RunRecord(counter: 0, boot: RunRecord.thisBoot, synchronous: synchronous, isClosed: false)
    let found: (counter: Int64, loss: DataLoss?)
    do {
      let isFirst =
        try known == nil && pool.read { try Int64.fetchOne($0, sql: "SELECT counter FROM installation") } == 0
      // Without a file, a counter above 0 means a restored backup. So the first run writes its file before it counts.
      if isFirst { try file.write(record) }
      found = try pool.write { [record] db in
        let counter = try Int64.fetchOne(db, sql: "SELECT counter FROM installation") ?? 0
        let loss = DataLoss.found(file: known, database: counter, boot: record.boot)
        if let loss { try Transaction(db: db, cache: WriterCache(), now: now).repair(loss) }
        let next = max(counter, known?.counter ?? 0) + 1
        try RunCounter.save(next, db)
        return (next, loss)
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw .unusable(path: path, reason: StoreError.words(error))
    }
    record.counter = found.counter
    try file.write(record)
    return (record, found.loss)
  }

  /// Checks that the database's files are in place. If they were removed or replaced, ``statistics`` show that the
  /// store is not available. Any thread.
  public func checkFiles() { writer.checkFiles() }

  private static func secret(_ pool: DatabasePool, _ path: String) throws(StoreError) -> [UInt8] {
    do {
      let bytes = try pool.write { db in
        var generator = SystemRandomNumberGenerator()
        let fresh = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        try db.execute(
          sql: "INSERT INTO installation (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING", arguments: [fresh])
        return try Data.fetchOne(db, sql: "SELECT secret FROM installation")
      }
      return Array(bytes ?? Data())
    } catch {
      throw .unusable(path: path, reason: StoreError.words(error))
    }
  }

  private static func open(_ path: String, _ synchronous: Synchronous) throws(StoreError) -> DatabasePool {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = true
    configuration.busyMode = .timeout(5)
    configuration.label = "stillwire.store"
    let files = FileManager.default
    if !files.fileExists(atPath: path) {
      // SQLite gives its log the same permissions.
      _ = files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
    }
    do {
      let pool = try DatabasePool(path: path, configuration: configuration)
      if try pool.read(Schema.migrator.hasBeenSuperseded) { throw StoreError.newerSchema(path: path) }
      try Schema.migrator.migrate(pool)
      try pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
        // 16 MiB, so that the newest pages of many rooms stay in memory.
        try db.execute(sql: "PRAGMA cache_size = -16384")
        // Moves the log into the database every 16 MiB instead of 4. The newest page of a busy room is then written
        // once for many messages, and the writer waits for the disk less often.
        try db.execute(sql: "PRAGMA wal_autocheckpoint = 4096")
        // An empty transaction finds a file that cannot be written now, and not at the first message.
        try db.inTransaction(.immediate) { .commit }
      }
      return pool
    } catch let error as StoreError {
      throw error
    } catch {
      throw .unusable(path: path, reason: StoreError.words(error))
    }
  }
}
