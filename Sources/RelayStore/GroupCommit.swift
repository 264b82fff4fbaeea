// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
import RelayProtocol
import Synchronization

/// The group commit: collects work items from all threads, and commits them in groups.
///
/// Any thread may call `append`, `beginDelayedDrain`, `continueDrain`, `stop` and `checkFiles`. `commitNext`, `boundLog`
/// and `end` run on the writer's queue. `closeRun` runs after the database is closed.
final class GroupCommit: Sendable {
  struct Work: Sendable {
    /// The submitter's estimate of the rows that the work writes.
    let rows: Int
    let task: Task
  }

  enum Task: Sendable {
    /// `run` does the work inside the transaction. The completion that it returns is called after the commit. `failed`
    /// makes the completion for a failed work or a failed commit.
    case any(run: @Sendable (Transaction) throws -> Completion, failed: @Sendable (StoreError) -> Completion)
    case message(QueuedMessage, completion: @Sendable (Result<Appended, StoreError>) -> Void)

    func failed(_ error: StoreError) -> Completion {
      switch self {
      case .any(_, let failed): failed(error)
      case .message(_, let completion): { completion(.failure(error)) }
      }
    }
  }

  private struct Queue {
    var works: [Work] = []
    /// True if a drain is in progress or requested.
    var isDraining = false
    /// True if a drain is set for later, for work items that are not urgent.
    var isDrainSet = false
    var isStopped = false
    /// The error of all work after the journal has ended the store.
    var end: StoreError?
  }

  /// The maximum number of rows in a transaction, except that a single work item may have more. It bounds the time
  /// that an item waits for its commit.
  static let maxRows = 1_000

  private let queue = Mutex(Queue())
  private let counted = Mutex(StoreStatistics())
  private let clock: StoreClock
  private let aging: Mutex<AgingClock>
  private let onCommit: @Sendable ([Completion]) -> Void
  // Safe: used only on the writer's queue. Its `updates` is a constant with its own lock, for all threads.
  nonisolated(unsafe) private let cache = WriterCache()

  var updates: UpdateListener { cache.updates }

  // Safe: used only on the writer's queue.
  nonisolated(unsafe) private let log: LogBound

  // Safe: used only on the writer's queue. Is `nil` without a journal.
  nonisolated(unsafe) private let rows: JournaledRows?

  // Safe: used on the writer's queue, and in `closeRun` after the database is closed, when nothing else can run. Is
  // `nil` with a journal, which records the commits itself.
  nonisolated(unsafe) private let run: RunCounter?

  private let files: DatabaseFiles
  private let damage: StoreDamage

  // Safe: used only in `commitNext`. The sum of the steps of the wall clock that is on disk.
  nonisolated(unsafe) private var notedSteps: Duration

  init(
    log: sending LogBound, rows: sending JournaledRows?, run: sending RunCounter?, files: DatabaseFiles,
    damage: StoreDamage, clock: StoreClock, aging: AgingClock, onCommit: @escaping @Sendable ([Completion]) -> Void
  ) {
    self.log = log
    self.rows = rows
    self.run = run
    self.files = files
    self.damage = damage
    self.clock = clock
    notedSteps = aging.storedSteps
    self.aging = Mutex(aging)
    self.onCommit = onCommit
  }

  var statistics: StoreStatistics {
    var statistics = counted.withLock { $0 }
    if damage.error != nil { (statistics.isDamaged, statistics.isAvailable) = (true, false) }
    return statistics
  }

  /// Reads both clocks. Any thread.
  func readClock() -> ClockReading {
    aging.withLock { aging in
      let (now, elapsed) = (clock.now(), clock.elapsed())
      aging.read(now: now, elapsed: elapsed)
      return ClockReading(now: now, elapsed: elapsed, aging: aging)
    }
  }

  /// Ends a wait of deletion by age, see ``AgingClock/confirm(_:)``. Any thread.
  func confirmClock(_ wait: AgingClock.Wait) -> Bool { aging.withLock { $0.confirm(wait) } }

  /// The drain that the caller of ``append(_:isUrgent:)`` must start. A drain is a chain of `commitNext` calls until
  /// the queue is empty.
  enum Drain { case none, now, later }

  /// - Parameter isUrgent: False if the work may wait for other items and share their commit.
  func append(_ work: Work, isUrgent: Bool) -> Drain {
    let drain: Result<Drain, StoreError> = queue.withLock { queue in
      if let error = queue.isStopped ? .closed : queue.end { return .failure(error) }
      queue.works.append(work)
      guard !queue.isDraining else { return .success(.none) }
      if isUrgent {
        queue.isDraining = true
        return .success(.now)
      }
      defer { queue.isDrainSet = true }
      return .success(queue.isDrainSet ? .none : .later)
    }
    switch drain {
    case .success(let drain): return drain
    case .failure(let error):
      onCommit([work.task.failed(error)])
      return .none
    }
  }

  /// Begins the drain that was set for later. Returns false if the queue is empty, or if a drain is in progress.
  func beginDelayedDrain() -> Bool {
    queue.withLock { queue in
      queue.isDrainSet = false
      guard !queue.isDraining, !queue.works.isEmpty else { return false }
      queue.isDraining = true
      return true
    }
  }

  /// Stops accepting work. Returns false if it had stopped before.
  func stop() -> Bool {
    queue.withLock { queue in
      defer { queue.isStopped = true }
      return !queue.isStopped
    }
  }

  /// Commits the next group, if anything is queued.
  func commitNext(_ db: Database) {
    let works = take()
    guard !works.isEmpty else { return }
    onCommit(commit(works, db))
    boundLog(db)
  }

  /// Restarts the write-ahead log if it is too large.
  func boundLog(_ db: Database) {
    let size = log.check(db)
    let blockedSince = log.blockedSince
    counted.withLock {
      $0.logSize = size
      $0.logBlockedSince = blockedSince
    }
  }

  /// Call after `commitNext`. Returns true if work is left; the caller must then call `commitNext` again. Otherwise it
  /// ends the drain, and the next `append` starts one.
  func continueDrain() -> Bool {
    queue.withLock { queue in
      queue.isDraining = !queue.works.isEmpty
      return queue.isDraining
    }
  }

  private func take() -> [Work] {
    queue.withLock { queue in
      var works: [Work] = []
      let count = Self.groupSize(of: queue.works.lazy.map(\.rows))
      if count == queue.works.count {
        swap(&works, &queue.works)
      } else {
        works = Array(queue.works.prefix(count))
        queue.works.removeFirst(count)
      }
      return works
    }
  }

  /// Puts works at the front of the queue, in their order. The caller has taken them, and has not committed them.
  private func putBack(_ works: ArraySlice<Work>) {
    guard !works.isEmpty else { return }
    queue.withLock { $0.works.insert(contentsOf: works, at: 0) }
  }

  /// The number of work items that fit into the next transaction by their rows; at least one.
  static func groupSize(of rows: some Sequence<Int>) -> Int {
    var (count, sum) = (0, 0)
    for rows in rows {
      sum += max(1, rows)
      guard count == 0 || sum <= maxRows else { break }
      count += 1
    }
    return count
  }

  /// Commits the works, or the first ones if the rows of all are too large for the journal. Puts the others back.
  private func commit(_ works: [Work], _ db: Database) -> [Completion] {
    if let end = rows?.end ?? damage.error { return works.map { $0.task.failed(end) } }
    let began = ContinuousClock.now
    cache.beginTransaction()
    do {
      var completions: [Completion] = []
      completions.reserveCapacity(works.count)
      var steps = notedSteps
      try files.checkIfMissing()
      try db.immediately {
        let transaction = Transaction(
          db: db, cache: cache, clock: readClock(), maxSlice: rows.map { _ in JournaledRows.maxSlice })
        steps = transaction.steps
        // The works may store reports and jobs that refer to the steps.
        if steps != notedSteps { try transaction.noteClock() }
        try perform(works, transaction, &completions)
        try run?.count(db, now: began)
        // A commit to a removed file would be lost.
        try files.check()
        try rows?.decide(db)
      }
      try files.confirm()
      rows?.committed()
      run?.confirm(now: began)
      notedSteps = steps
      count(completions.count, since: began, hasFailed: false)
      putBack(works[completions.count...])
      return completions
    } catch let failure as WorkFailure {
      // Only a commit shows that the disk works. A failure of the disk shows that it does not.
      count(1, since: began, hasFailed: failure.error.code == .unavailable ? true : nil)
      return [works[0].task.failed(failure.error)]
    } catch {
      // The cache contains the seqs of the failed messages. It is cleared, so that the next messages read the rows on
      // disk and these seqs are used again.
      cache.removeAll()
      let failure = damage.noted(ofCommit: (error as? GroupedMessages.UndoFailure)?.cause ?? error)
      let error = rows?.failed(failure) ?? failure
      guard error != .tooLarge else { return commitFirstHalf(works, db) }
      if let end = rows?.end { queue.withLock { $0.end = end } }
      count(works.count, since: began, hasFailed: true)
      return works.map { $0.task.failed(error) }
    }
  }

  /// Commits the first half of works that are too large together, and puts the others back. A single one fails.
  private func commitFirstHalf(_ works: [Work], _ db: Database) -> [Completion] {
    guard works.count > 1 else { return works.map { $0.task.failed(.tooLarge) } }
    putBack(works[(works.count / 2)...])
    return commit(Array(works[..<(works.count / 2)]), db)
  }

  /// Performs works until the group is full. Appends their completions.
  private func perform(_ works: [Work], _ transaction: Transaction, _ completions: inout [Completion]) throws {
    let messages = try GroupedMessages(transaction, rows)
    for work in works {
      if let rows, rows.isFull { break }
      completions.append(try perform(work.task, transaction, messages, isAlone: rows == nil && works.count == 1))
      try rows?.check()
    }
    try messages.writeRows()
  }

  /// Checks that the files of the database are in place. If not, the store is not available. Any thread.
  /// - Returns: The error about a file that is not in its place.
  func checkFiles() -> StoreError? {
    do {
      try files.check()
      return nil
    } catch {
      counted.withLock { $0.isAvailable = false }
      return error
    }
  }

  /// Moves the whole write-ahead log into the database, and increments the counter for a clean end. Does nothing for a
  /// damaged database.
  /// - Returns: True if the caller must call ``closeRun()`` after it has closed the database.
  func end(_ db: Database) -> Bool {
    defer { rows?.close() }
    guard damage.error == nil else { return false }
    do {
      try files.check()
      if let run {
        try db.immediately { try run.countEnd(db) }
      }
      _ = try db.checkpoint(.truncate)
      try files.check()
      return true
    } catch {
      // The write-ahead log stays, and the next start reads it.
      return false
    }
  }

  /// Records a clean end in the file beside the database.
  func closeRun() { run?.close() }

  /// - Parameter hasFailed: Nil if the transaction was undone before it reached the disk.
  private func count(_ works: Int, since began: ContinuousClock.Instant, hasFailed: Bool?) {
    let time = ContinuousClock.now - began
    counted.withLock { statistics in
      statistics.commits.observe(time.seconds)
      statistics.groups.observe(Double(works))
      guard let hasFailed else { return }
      statistics.isAvailable = !hasFailed
      if hasFailed { statistics.failures += 1 }
    }
  }

  /// Performs one work item. Throws when the whole transaction is lost, and ``WorkFailure`` for an item that is alone.
  private func perform(
    _ task: Task, _ transaction: Transaction, _ messages: GroupedMessages, isAlone: Bool
  ) throws -> Completion {
    switch task {
    case .message(let message, let completion):
      do {
        if let stored = try messages.append(message.draft) { return { completion(.success(stored)) } }
      } catch {
        guard transaction.db.isInsideTransaction, !(error is GroupedMessages.UndoFailure) else { throw error }
        return task.failed(try workError(error))
      }
      return try protect(task, transaction, messages, isAlone: isAlone) {
        let stored = try $0.messages.append(message.draft)
        return { completion(.success(stored)) }
      }
    case .any(let run, _): return try protect(task, transaction, messages, isAlone: isAlone, run)
    }
  }

  /// The failure of a work item that is alone in its transaction. The transaction is undone instead of the item.
  private struct WorkFailure: Error {
    let error: StoreError
  }

  /// Runs a work item within a savepoint, so that its failure undoes only this item.
  /// - Parameter isAlone: True if no other item is in the transaction. Throws ``WorkFailure`` then, without a savepoint.
  private func protect(
    _ task: Task, _ transaction: Transaction, _ messages: GroupedMessages, isAlone: Bool,
    _ run: (Transaction) throws -> Completion
  ) throws -> Completion {
    let db = transaction.db
    // The work may read the grouped rows, so write them now. They are outside the savepoint, so a rollback of the work
    // keeps them. A work that is alone has none.
    try messages.writeRows()
    let mark = rows?.mark ?? 0
    if !isAlone { try db.run("SAVEPOINT work") }
    cache.beginWork()
    do {
      let completion = try run(transaction)
      if !isAlone { try db.run("RELEASE work") }
      return completion
    } catch {
      // After some disk errors SQLite has already rolled back the whole transaction. Then do not continue: the next
      // SAVEPOINT would open a new transaction.
      guard db.isInsideTransaction else { throw error }
      let failure = try workError(error)
      cache.forgetWork()
      if isAlone { throw WorkFailure(error: failure) }
      try db.run("ROLLBACK TO work")
      rows?.cut(to: mark)
      try db.run("RELEASE work")
      return task.failed(failure)
    }
  }

  /// Returns the error of a work item. Throws it if the database is damaged: then the whole transaction is lost, because
  /// nothing may be written any more.
  private func workError(_ error: any Error) throws(StoreError) -> StoreError {
    let failure = damage.noted(error)
    if failure.isDamage { throw failure }
    return failure
  }
}
