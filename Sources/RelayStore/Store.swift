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

  /// The default of the store, and of its setting.
  public static let standard = Synchronous.full
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
  private let damaged: StoreDamage
  private let lock: FolderLock
  /// The file's position in its log when the store was opened. Is `nil` without a journal.
  public let position: String?
  /// The tables of other programs in the database when the store was opened, such as those of Litestream. The store
  /// leaves them alone.
  public let foreignTables: [String]

  /// Opens `stillwire.db` in `folder`, and creates both if they do not exist. Migrates the schema.
  ///
  /// - Parameters:
  ///   - journal: Decides each group before its commit. Only for a file that a ``Replica`` has prepared: it has a
  ///     position and all migrations. The store then changes no replicated row at its start, and keeps no record of its
  ///     run. Is `nil` for a single node: if the file has a position, it has left its cluster, so the store removes the
  ///     position and begins new epochs, see ``loss``.
  ///   - clock: The clocks for work items whose caller gives no time, and for ages.
  ///   - onCommit: Called once for each group, on the writer's thread, with the completions in the order of submission.
  ///     It must run each completion once. It must not call ``close()``.
  public convenience init(
    folder: String, synchronous: Synchronous = .standard, journal: (any Journal)? = nil,
    clock: StoreClock = .system, onCommit: @escaping @Sendable ([Completion]) -> Void
  ) throws(StoreError) {
    try self.init(
      folder: folder, synchronous: synchronous, journal: journal, threads: .own, clock: clock, onCommit: onCommit)
  }

  /// - Parameter maxLog: The bound of ``LogBound``.
  init(
    folder: String, synchronous: Synchronous, journal: (any Journal)? = nil, maxLog: Int = LogBound.standard,
    threads: StoreThreads = .own, clock: StoreClock, onCommit: @escaping @Sendable ([Completion]) -> Void
  ) throws(StoreError) {
    let data = try DataFolder(folder)
    let path = data.database
    lock = data.lock
    pool = try Self.open(data, synchronous, isReplica: journal != nil, maxLog)
    let pool = pool
    secret = try StoreError.opening(path) { try pool.write(Installation.secret) }
    foreignTables = try StoreError.opening(path) { try pool.read { try ReplicatedTables.foreign($0, Schema.migrator) } }
    let files = try DatabaseFiles(database: path)
    let log = LogBound(log: files.log, bound: maxLog)
    self.threads = threads
    reads = GroupRead(pool, threads)
    damaged = StoreDamage(path: path)
    let aging = try StoreError.opening(path) {
      try pool.read { try AgingClock(stored: $0, clock, keyTime: journal?.keyTime) }
    }
    if let journal {
      (loss, position) = (nil, try StoreError.opening(path) { try pool.read(Installation.position) })
      guard position != nil else { throw .unusable(path: path, reason: "it follows no log") }
      writer = GroupCommit(
        log: log, rows: try Self.capture(pool, path, journal, foreignTables), run: nil, files: files, damage: damaged,
        clock: clock, aging: aging, onCommit: onCommit)
    } else {
      let file = RunFile(folder: folder)
      let (record, loss) = try Self.begin(file, pool, path, synchronous, now: clock.now())
      (self.loss, position) = (loss, nil)
      writer = GroupCommit(
        log: log, rows: nil, run: RunCounter(record, in: file), files: files, damage: damaged, clock: clock,
        aging: aging, onCommit: onCommit)
    }
  }

  /// Sets the listener that each transaction with updates of phones calls, on the writer's thread. The next transaction
  /// finds the updates. The listener must return at once.
  public func listenToUpdates(_ listener: @escaping @Sendable () -> Void) { writer.updates.set(listener) }

  /// The first damage of the database that SQLite has found since the store was opened. From then on, all writes fail
  /// with it, and so do the reads of damaged pages.
  public var damage: StoreError? { damaged.error }

  /// Sets the listener that is called once, on any thread, when ``damage`` is found. Replaces an earlier listener.
  /// - Returns: The damage that was found before. Nobody calls the listener then.
  public func listenToDamage(_ listener: @escaping @Sendable (StoreError) -> Void) -> StoreError? {
    damaged.listen(listener)
  }

  /// Reads both clocks.
  public func readClock() -> ClockReading { writer.readClock() }

  /// Ends the wait of deletion by age, because an operator knows that the wall clock is right.
  /// - Returns: True if it waited.
  public func confirmClock() async throws(StoreError) -> Bool {
    guard let wait = readClock().aging.wait else { return false }
    try await write { try $0.noteConfirmedClock() }
    return writer.confirmClock(wait)
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
  ///   - work: Runs on the writer's thread. It must not keep the transaction. With a journal it may run again after
  ///     its changes were undone, so its other effects must be harmless. It must not continue after an error of SQLite:
  ///     the journal would then contain rows that SQLite has undone.
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
  public func append(
    _ message: QueuedMessage, completion: @escaping @Sendable (Result<Appended, StoreError>) -> Void
  ) {
    queue(
      .message(message, completion: completion), rows: 1 + message.draft.jobs.count + message.draft.silenced.count)
  }

  private func queue(_ task: GroupCommit.Task, rows: Int, isUrgent: Bool = true) {
    // A simulation has no timers.
    let isUrgent = if case .own = threads { isUrgent } else { true }
    switch writer.append(GroupCommit.Work(rows: rows, task: task), isUrgent: isUrgent) {
    case .none: break
    case .now: Self.drain(writer, pool, threads)
    case .later:
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.maxWait) { [writer, pool, threads] in
        if writer.beginDelayedDrain() { Self.drain(writer, pool, threads) }
      }
    }
  }

  /// Commits one group after the other, each in its own turn, so that other users of the writer's thread get it in
  /// between.
  private static func drain(_ writer: GroupCommit, _ pool: DatabasePool, _ threads: StoreThreads) {
    threads.write(pool, writer.commitNext) { if writer.continueDrain() { drain(writer, pool, threads) } }
  }

  /// Stores the position of a log that has got records without rows.
  /// - Parameter position: Called on the writer's thread. Returns the position after all groups that the journal has
  ///   decided, or a later one.
  public func savePosition(_ position: @escaping @Sendable () -> String) {
    submit({ try Installation.save(position: position(), $0.db) }, isUrgent: false) { _ in }
  }

  /// Runs `work` in the next transaction, and returns when the transaction is on disk or has failed.
  ///
  /// The work is submitted before the caller suspends, so that the calls of an actor are stored in their order.
  /// - Parameter rows: An estimate of the rows that the work writes. It limits the size of a transaction.
  public nonisolated(nonsending) func write<T: Sendable>(
    rows: Int = 1, _ work: @escaping @Sendable (Transaction) throws -> T
  ) async throws(StoreError) -> T {
    let handover = Handover<Result<T, StoreError>>()
    submit(work, rows: rows, completion: handover.give)
    return try await handover.value().get()
  }

  /// Runs `work` on a reader, with one consistent snapshot of everything committed so far.
  public nonisolated(nonsending) func read<T: Sendable>(
    _ work: @escaping @Sendable (Reader) throws -> T
  ) async throws(StoreError) -> T {
    let handover = Handover<Result<T, StoreError>>()
    reads.append { [damaged] database in
      handover.give(Result { try work(Reader(db: database.get())) }.mapError(damaged.noted(_:)))
    }
    return try await handover.value().get()
  }

  /// Commits the queued work, runs the completions, waits for the reads, and closes the files. Later work fails.
  ///
  /// Blocks until done. Must not be called within `onCommit`, a work item or a read.
  public func close() {
    guard writer.stop() else { return }
    // The barrier waits for the readers, so that the whole log can be moved into the database. If it fails, nothing is
    // lost, because the next start reads the log.
    let isClean = try? pool.barrierWriteWithoutTransaction { db in
      // Another thread may have appended a work item and not requested its drain yet.
      repeat { writer.commitNext(db) } while writer.continueDrain()
      return writer.end(db)
    }
    reads.end()
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
    let found: (counter: Int64, loss: DataLoss?) = try StoreError.opening(path) {
      let isFirst = try known == nil && pool.read(Installation.counter) == 0
      // Without a file, a counter above 0 means a restored backup. So the first run writes its file before it counts.
      if isFirst { try file.write(record) }
      return try pool.write { db in
        let counter = try Installation.counter(db)
        let loss = try DataLoss.repair(db, after: known, now: now)
        // From now on the file has commits that no log has.
        if try Installation.position(db) != nil { try Installation.save(position: nil, db) }
        let next = max(counter, known?.counter ?? 0) + 1
        try Installation.save(counter: next, db)
        return (next, loss)
      }
    }
    record.counter = found.counter
    try file.write(record)
    return (record, found.loss)
  }

  /// Rewrites the database, so that its file has no deleted contents. ``emptyLog()`` must follow. Other writes wait
  /// meanwhile, for a time that increases with the size of the database.
  ///
  /// SQLite overwrites what it deletes (`secure_delete`), but not the copies that remain when rows move to other pages.
  /// With a journal this does nothing: `VACUUM` is not a change of rows.
  ///
  /// Throws ``StoreError/unavailable(reason:)`` if the disk lacks the space for two copies of the database, and then
  /// writes nothing: the copies are in the temporary folder and in the write-ahead log.
  public nonisolated(nonsending) func rewrite() async throws(StoreError) {
    guard position == nil else { return }
    let folder = (pool.path as NSString).deletingLastPathComponent
    try await exclusively { db in
      let size = try db.byteCount
      let free = try FileManager.default.attributesOfFileSystem(forPath: folder)[.systemFreeSize] as? NSNumber
      guard free.map({ $0.int64Value >= 2 * size }) ?? true else {
        throw StoreError.unavailable(reason: "the rewrite of the database needs \(2 * size) free bytes on the disk")
      }
      try db.execute(sql: "VACUUM")
    }
  }

  /// Moves the write-ahead log into the database, and empties it. Throws ``StoreError/unavailable(reason:)`` while
  /// a reader, such as a backup, uses the log.
  public nonisolated(nonsending) func emptyLog() async throws(StoreError) {
    try await exclusively { try $0.truncateLog() }
  }

  /// Tries again to restart a write-ahead log that a reader has blocked, see ``StoreStatistics/logBlockedSince``. A
  /// commit also tries, but without messages there is none.
  public func boundLog() {
    guard statistics.logBlockedSince != nil else { return }
    threads.write(pool, writer.boundLog) {}
  }

  /// Runs work on the writer's thread, outside of a transaction.
  private nonisolated(nonsending) func exclusively(
    _ work: @escaping @Sendable (Database) throws -> Void
  ) async throws(StoreError) {
    let handover = Handover<Result<Void, StoreError>>()
    threads.write(pool) { [damaged] db in
      handover.give(
        Result {
          if let error = damaged.error { throw error }
          try work(db)
        }.mapError(damaged.noted(_:)))
    } next: {
    }
    try await handover.value().get()
  }

  /// Checks that the database's folder and files are in place. If they were removed or replaced, ``statistics`` show
  /// that the store is not available. Any thread.
  /// - Returns: The error about a file that is not in its place.
  @discardableResult
  public func checkFiles() -> StoreError? { writer.checkFiles() }

  /// Returns the error of a start that has failed after the store was opened. If the database cannot be written, the
  /// error names it, and a full disk.
  public func startError(_ error: any Error) -> any Error {
    guard case .unavailable(let reason)? = error as? StoreError else { return error }
    return StoreError.unusable(path: pool.path, reason: Disk.reason(at: pool.path, else: reason))
  }

  private static func capture(
    _ pool: DatabasePool, _ path: String, _ journal: any Journal, _ foreign: [String]
  ) throws(StoreError) -> JournaledRows {
    try StoreError.opening(path) {
      try pool.writeWithoutTransaction { try JournaledRows($0, journal: journal, foreign: foreign) }
    }
  }

  /// The time in seconds that SQLite waits for a lock.
  static let busyTimeout = 5.0

  /// - Parameter isReplica: True if the log of a cluster names the migrations, so that this must not run one.
  private static func open(
    _ data: DataFolder, _ synchronous: Synchronous, isReplica: Bool, _ maxLog: Int
  ) throws(StoreError) -> DatabasePool {
    let path = data.database
    var configuration = Configuration()
    configuration.foreignKeysEnabled = true
    configuration.busyMode = .timeout(Self.busyTimeout)
    configuration.label = "stillwire.store"
    if !isReplica { data.createDatabase() }
    guard FileManager.default.fileExists(atPath: path) else {
      throw .unusable(path: path, reason: Disk.reason(at: path, else: "the file does not exist"))
    }
    return try StoreError.opening(path) {
      let pool = try DatabasePool(path: path, configuration: configuration)
      if try pool.read(Schema.migrator.hasBeenSuperseded) { throw StoreError.newerSchema(path: path) }
      if !isReplica { try Schema.migrator.migrate(pool) }
      guard try pool.read(Schema.migrator.hasCompletedMigrations) else {
        throw StoreError.unusable(path: path, reason: "its log lacks a migration of this release")
      }
      try pool.writeWithoutTransaction { try DataFolder.prepare($0, synchronous, maxLog: maxLog) }
      return pool
    }
  }
}
