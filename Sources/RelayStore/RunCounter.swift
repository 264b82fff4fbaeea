// SPDX-License-Identifier: Apache-2.0
import GRDB

/// Counts up in the database while the store commits, and in the ``RunFile`` behind it, so that a restored backup is
/// noticed. Belongs to the writer's thread.
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

  /// Counts up within the open transaction when it is time. Costs nothing otherwise.
  func count(_ db: Database, now: ContinuousClock.Instant) throws {
    isCounting = now - last >= Self.pause
    if isCounting { try Self.save(record.counter + 1, db) }
  }

  /// The transaction is on disk: the file may say so.
  func confirm(now: ContinuousClock.Instant) {
    guard isCounting else { return }
    isCounting = false
    last = now
    record.counter += 1
    file.writeSoon(record)
  }

  /// Counts up for a clean end. The caller is within a transaction.
  func countEnd(_ db: Database) throws {
    try Self.save(record.counter + 1, db)
    record.counter += 1
  }

  /// Notes a clean end in the file. The caller has moved the whole log into the database and closed it.
  func close() {
    record.isClosed = true
    try? file.write(record)
  }

  static func save(_ counter: Int64, _ db: Database) throws {
    try db.run("UPDATE installation SET counter = ?", [counter])
  }
}
