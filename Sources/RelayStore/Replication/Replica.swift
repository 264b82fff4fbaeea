// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol
import Synchronization

/// An error of ``Replica/apply(_:position:)``. The file has not changed.
public enum ReplicaError: Error, Equatable, Sendable {
  /// The rows of the group at this index do not fit the file, which is no copy of the others.
  case conflict(index: Int, reason: String)
  case failed(StoreError)
}

/// The file of a node that follows a log: the database of a ``Store`` that does not run.
///
/// The file contains all groups of the log up to ``position``. Any thread may call the methods, and each call waits for
/// the earlier ones, except ``copy(to:)``.
public final class Replica: Sendable {
  private struct State {
    var position: String?
    var migrations: [String]
    var foreignTables: [String]
  }

  private let folder: DataFolder
  private let queue: DatabaseQueue
  private let migrator: DatabaseMigrator
  private let state: Mutex<State>
  // Safe: used only on the queue. Is `nil` after the end.
  nonisolated(unsafe) private var applier: RowApplier?

  /// Opens the database of a folder. Creates it if it does not exist, with all known migrations. The migrations that an
  /// existing database lacks are left to ``migrate(_:position:)``.
  public convenience init(folder: String) throws(StoreError) {
    try self.init(folder: folder, migrator: Schema.migrator)
  }

  init(folder: String, migrator: DatabaseMigrator) throws(StoreError) {
    self.folder = try DataFolder(folder)
    self.migrator = migrator
    let path = self.folder.database
    self.folder.createDatabase()
    let state: State
    (queue, state, applier) = try StoreError.opening(path) {
      var configuration = Configuration()
      // A body of the log contains the rows that triggers and foreign keys have changed.
      configuration.foreignKeysEnabled = false
      configuration.busyMode = .timeout(5)
      configuration.journalMode = .wal
      configuration.label = "stillwire.replica"
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      if try queue.read(migrator.hasBeenSuperseded) { throw StoreError.newerSchema(path: path) }
      if try queue.read(migrator.appliedMigrations).isEmpty { try migrator.migrate(queue) }
      let (state, applier) = try queue.writeWithoutTransaction { db in
        // A loss of power undoes the newest groups. The log still has them.
        try DataFolder.prepare(db, .normal)
        _ = try Installation.secret(db)
        let state = try State(
          position: Installation.position(db), migrations: migrator.appliedMigrations(db),
          foreignTables: ReplicatedTables.foreign(db, migrator))
        return (state, try RowApplier(db, foreign: state.foreignTables))
      }
      return (queue, state, applier)
    }
    self.state = Mutex(state)
  }

  /// The position of the newest group in the file. Is `nil` while the file follows no log.
  public var position: String? { state.withLock { $0.position } }

  /// The migrations that have run on the file, in their order.
  public var migrations: [String] { state.withLock { $0.migrations } }

  /// The tables of other programs in the file when it was opened, such as those of Litestream. They are not replicated.
  public var foreignTables: [String] { state.withLock { $0.foreignTables } }

  /// The migrations of this release, in their order.
  public static var known: [String] { Schema.migrator.migrations }

  /// True if the file has no users and no rooms.
  public var isEmpty: Bool {
    get throws(StoreError) {
      try read { try !$0.has("SELECT 1 FROM users LIMIT 1") && !$0.has("SELECT 1 FROM rooms LIMIT 1") }
    }
  }

  /// True if the log of the file has had a snapshot, so that other nodes can join without this one.
  public var hasSnapshot: Bool {
    get throws(StoreError) { try read(Installation.hasSnapshot) }
  }

  /// The log of the file has a snapshot.
  public func noteSnapshot() throws(StoreError) {
    try StoreError.opening(folder.database) {
      try use { db, _ in
        try db.inTransaction(.immediate) {
          try Installation.save(hasSnapshot: true, db)
          return .commit
        }
      }
    }
  }

  /// The present time by the clock for keys, see ``AgingClock/keyOffset``, as a single node continues it at its start.
  public func keyTime(at clock: StoreClock = .system) throws(StoreError) -> Timestamp {
    let aging = try read { try AgingClock(stored: $0, clock) }
    return clock.now() - aging.keyOffset
  }

  /// The hash of all rows that replicas have in common. Reads the whole file.
  public func hash() throws(StoreError) -> String {
    try read { try ReplicatedTables.hash($0, foreign: foreignTables) }
  }

  /// Writes the rows of groups and the position in one transaction.
  /// - Parameters:
  ///   - bodies: The groups as ``Journal/decide(_:)`` got them, in the order of the log.
  ///   - position: The position after them.
  public func apply(_ bodies: [[UInt8]], position: String) throws(ReplicaError) {
    do {
      try use { db, applier in
        try db.inTransaction(.immediate) {
          for (index, body) in bodies.enumerated() {
            do {
              try applier.apply(body)
            } catch RowApplier.Failure.conflict(let reason) {
              throw ReplicaError.conflict(index: index, reason: reason)
            } catch RowApplier.Failure.unavailable(let reason) {
              let isDamaged = StoreError.isDamage(db.lastErrorCode)
              throw ReplicaError.failed(
                isDamaged ? .damaged(path: folder.database, reason: reason) : .unavailable(reason: reason))
            }
          }
          try Installation.save(position: position, db)
          return .commit
        }
      }
    } catch let error as ReplicaError {
      throw error
    } catch {
      throw .failed(StoreError(ofCommit: error, at: folder.database))
    }
    state.withLock { $0.position = position }
  }

  /// Writes only the position.
  public func setPosition(_ position: String) throws(StoreError) {
    do {
      try apply([], position: position)
    } catch {
      switch error {
      case .failed(let error): throw error
      case .conflict(_, let reason): throw .failed(reason: reason)
      }
    }
  }

  /// Makes the file the beginning of a new log, at this position.
  ///
  /// If the file may lack commits that clients have seen, this begins new epochs, as the start of a single node does.
  /// That is so for each file that has followed another log, because another node may have had more of that log.
  /// - Returns: The loss. Is `nil` for the complete file of a single node.
  @discardableResult
  public func beginLog(at position: String, now: Timestamp = Store.timeOfDay()) throws(StoreError) -> DataLoss? {
    let run = RunFile(folder: folder.path).read()
    let loss: DataLoss? = try StoreError.opening(folder.database) {
      try use { db, _ in
        var loss: DataLoss?
        try db.inTransaction(.immediate) {
          loss = try DataLoss.repair(db, after: run, now: now)
          try Installation.save(position: position, db)
          try Installation.save(hasSnapshot: false, db)
          return .commit
        }
        return loss
      }
    }
    state.withLock { $0.position = position }
    return loss
  }

  /// Runs a migration, and the migrations before it, unless they have run. Then writes the position.
  ///
  /// Each of these steps has its own transaction. After a crash, the same call does the rest.
  public func migrate(_ name: String, position: String) throws(StoreError) {
    guard migrator.migrations.contains(name) else { throw .newerSchema(path: folder.database) }
    if !migrations.contains(name) {
      try StoreError.opening(folder.database) {
        // The applier knows the tables as they were before.
        try use { _, applier in applier.close() }
        let result = Result { try migrator.migrate(queue, upTo: name) }
        try queue.writeWithoutTransaction { db in
          applier = try RowApplier(db, foreign: ReplicatedTables.foreign(db, migrator))
        }
        try result.get()
      }
      let migrations = try read(migrator.appliedMigrations)
      state.withLock { $0.migrations = migrations }
    }
    try setPosition(position)
  }

  /// Closes the file and frees the folder. Later calls fail. No migration may run at the same time.
  public func close() {
    queue.writeWithoutTransaction { _ in
      applier?.close()
      applier = nil
    }
    try? queue.close()
    folder.lock.release()
  }

  /// Copies the file while other threads use it, see ``copy(folder:to:)``.
  public func copy(to path: String) throws(StoreError) -> String? {
    try Self.copy(database: folder.database, to: path)
  }

  private func read<Value>(_ value: (Database) throws -> Value) throws(StoreError) -> Value {
    do {
      return try use { db, _ in try db.isolated(value) }
    } catch {
      throw StoreError(error, at: folder.database)
    }
  }

  private func use<Value>(_ body: (Database, RowApplier) throws -> Value) throws -> Value {
    try queue.writeWithoutTransaction { db in
      // GRDB does not check this before it calls SQLite.
      guard let applier else { throw StoreError.closed }
      return try body(db, applier)
    }
  }
}

extension Database {
  /// Reads within one transaction.
  fileprivate func isolated<Value>(_ value: (Database) throws -> Value) throws -> Value {
    var result: Value?
    try inTransaction(.deferred) {
      result = try value(self)
      return .commit
    }
    guard let result else { preconditionFailure("a transaction that does not throw has run its work") }
    return result
  }
}
