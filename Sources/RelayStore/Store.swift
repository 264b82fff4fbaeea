// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import GRDB
public import RelayProtocol

/// What is done when a group is on disk; see ``Store/submit(_:completion:)``.
public typealias Completion = @Sendable () -> Void

/// How a commit reaches the disk.
public enum Synchronous: String, Sendable, CaseIterable {
  /// A committed transaction survives a loss of power.
  case full
  /// A committed transaction survives a crash of the process; a loss of power may take the newest ones.
  case normal
}

/// The relay's durable state: members, messages, focus, devices and push jobs, in one SQLite database.
///
/// There is one writer, which commits in groups: what is submitted while a commit runs is the next transaction.
/// Readers run beside it and see what was committed before they began. Every method may be called on any thread.
public final class Store: Sendable {
  /// 32 random bytes, made with the database and kept in it: what is signed by them is known again after a restart.
  public let secret: [UInt8]
  let pool: DatabasePool
  let writer: GroupCommit
  /// Commits of an earlier run that the database did not hold when it was opened. The store has begun new epochs then.
  public let loss: DataLoss?
  private let threads: StoreThreads
  private let reads: GroupRead
  private let lock: FolderLock

  /// Opens `stillwire.db` in `folder`, both created if missing, and brings its schema up to date.
  ///
  /// - Parameters:
  ///   - now: The time that a work writes where its caller gives none.
  ///   - onCommit: Called once for a group, on the writer's thread, with the completions in the order of submission;
  ///     it must see to it that each is run once. It must not call ``close()`` itself.
  public convenience init(
    folder: String, synchronous: Synchronous = .full, now: @escaping @Sendable () -> Timestamp = Store.timeOfDay,
    onCommit: @escaping @Sendable ([Completion]) -> Void
  ) throws(StoreError) {
    try self.init(folder: folder, synchronous: synchronous, threads: .own, now: now, onCommit: onCommit)
  }

  /// - Parameter largestLog: Bytes of the write-ahead log from which on readers are waited for to begin it anew.
  init(
    folder: String, synchronous: Synchronous, largestLog: Int = 64 << 20, threads: StoreThreads = .own,
    now: @escaping @Sendable () -> Timestamp, onCommit: @escaping @Sendable ([Completion]) -> Void
  ) throws(StoreError) {
    do {
      // Messages and tokens are nobody else's to read.
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
      log: LogBound(log: files.log, bound: largestLog), run: RunCounter(record, in: file), files: files, now: now,
      onCommit: onCommit)
  }

  /// The default clock: the system's time of day.
  public static let timeOfDay: @Sendable () -> Timestamp = {
    Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000))
  }

  /// Queues `work` for the next transaction.
  ///
  /// Works run one after the other, in the order of submission. One that throws is undone alone and completed with
  /// its failure, while the others commit. If the commit itself fails, nothing of the group happened, and every
  /// completion of it is given ``StoreError/unavailable(reason:)``.
  /// - Parameters:
  ///   - work: Runs on the writer's thread. It must not keep the transaction.
  ///   - rows: About how many rows it writes. A transaction is bounded by them.
  ///   - isUrgent: False if nobody waits for the work: it then waits up to ``longestWait`` for a transaction that others
  ///     need. Its place in the order stays.
  ///   - completion: Handed to `onCommit` when the transaction is on disk or has failed.
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

  /// For how long a work that is not urgent waits for others. A commit of its own costs more than the work.
  static let longestWait = DispatchTimeInterval.milliseconds(50)

  /// Queues a message for the next transaction, as ``submit(_:rows:completion:)`` with ``MessageWriter/append(_:)`` does.
  /// Costs less: the messages of a transaction share what they can.
  public func append(_ draft: MessageDraft, completion: @escaping @Sendable (Result<Appended, StoreError>) -> Void) {
    queue(
      .message(GroupCommit.Message(draft, completion: completion)), rows: 1 + draft.jobs.count + draft.silenced.count)
  }

  private func queue(_ task: GroupCommit.Task, rows: Int, isUrgent: Bool = true) {
    // A simulation has no time of its own.
    let isUrgent = if case .own = threads { isUrgent } else { true }
    switch writer.append(GroupCommit.Work(rows: rows, task: task), isUrgent: isUrgent) {
    case .none: break
    case .now: Self.drain(writer, pool, threads)
    case .later:
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.longestWait) { [writer, pool, threads] in
        if writer.beginSetDrain() { Self.drain(writer, pool, threads) }
      }
    }
  }

  /// Group after group, each by itself, so that others may have the writer's thread in between.
  private static func drain(_ writer: GroupCommit, _ pool: DatabasePool, _ threads: StoreThreads) {
    threads.write(pool, writer.commitNext) { if writer.goesOn() { drain(writer, pool, threads) } }
  }

  /// Runs `work` in the next transaction and returns when that is on disk, or has failed.
  ///
  /// It is submitted before the caller's actor does anything else, so that its calls are stored in their order.
  /// - Parameter rows: About how many rows the work writes. A transaction is bounded by them.
  public nonisolated(nonsending) func write<T: Sendable>(
    rows: Int = 1, _ work: @escaping @Sendable (Transaction) throws -> T
  ) async throws(StoreError) -> T {
    let result = await withCheckedContinuation { continuation in
      submit(work, rows: rows) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Runs `work` on a reader: one consistent view of everything committed so far.
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

  /// Commits what is queued, hands out its completions, and closes the files. What is submitted afterwards fails.
  ///
  /// Blocks until done. Not to be called within `onCommit`, a work or a read.
  public func close() {
    guard writer.stop() else { return }
    // The barrier waits for the readers, so that the whole log can be moved into the database. When that fails,
    // nothing is lost: the next start reads the log.
    let isClean = try? pool.barrierWriteWithoutTransaction { db in
      // Another thread may have appended a work and not asked for its drain yet.
      repeat { writer.commitNext(db) } while writer.goesOn()
      return writer.end(db)
    }
    try? pool.close()
    if isClean == true { writer.closeRun() }
    lock.release()
  }

  /// Begins a run: compares the database with the record of the run before, and counts up in both.
  private static func begin(
    _ file: RunFile, _ pool: DatabasePool, _ path: String, _ synchronous: Synchronous, now: Timestamp
  ) throws(StoreError) -> (RunRecord, DataLoss?) {
    let known = file.read()
    var record = RunRecord(counter: 0, boot: RunRecord.thisBoot, synchronous: synchronous, isClosed: false)
    let found: (counter: Int64, loss: DataLoss?)
    do {
      let isFirst =
        try known == nil && pool.read { try Int64.fetchOne($0, sql: "SELECT counter FROM installation") } == 0
      // Without a file, a counter above 0 is a restored backup. So the file of a first run is written before it counts.
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

  /// Checks that the database's files are still in place. If they were removed or replaced, ``statistics`` show that
  /// the store is not available. Any thread.
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
        // 16 MiB, so that the ends of many rooms stay in memory.
        try db.execute(sql: "PRAGMA cache_size = -16384")
        // Moves 16 MiB of the log into the database at once, not 4: the end of a busy room is then written there
        // once for many messages, and the disk is waited for less often.
        try db.execute(sql: "PRAGMA wal_autocheckpoint = 4096")
        // A file that cannot be written is told now, not at the first message.
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
