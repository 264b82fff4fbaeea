// SPDX-License-Identifier: Apache-2.0
import GRDB

/// Increments a counter in the database while the store commits, and then the counter in the ``RunFile``. A difference
/// shows that a backup was restored. Belongs to the writer's thread.
final class RunCounter {
  /// The time between two increments.
  static let pause = Duration.seconds(1)

  private let file: RunFile
  private var record: RunRecord
  private var last = ContinuousClock.now
  /// The increment of the open transaction.
  private var isCounting = false

  init(_ record: RunRecord, in file: RunFile) {
    self.record = record
    self.file = file
  }

  /// Increments the counter within the open transaction if ``pause`` is over. Otherwise does nothing.
  func count(_ db: Database, now: ContinuousClock.Instant) throws {
    isCounting = now - last >= Self.pause
    if isCounting { try Installation.save(counter: record.counter + 1, db) }
  }

  /// Writes the new counter to the file, after the transaction is on disk.
  func confirm(now: ContinuousClock.Instant) {
    guard isCounting else { return }
    isCounting = false
    last = now
    record.counter += 1
    file.writeSoon(record)
  }

  /// Increments the counter for a clean end. The caller is within a transaction.
  func countEnd(_ db: Database) throws {
    try Installation.save(counter: record.counter + 1, db)
    record.counter += 1
  }

  /// Records a clean end in the file. The caller has moved the whole log into the database and closed it.
  func close() {
    record.isClosed = true
    try? file.write(record)
  }
}
