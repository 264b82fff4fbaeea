// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

extension DataLoss {
  /// Finds the loss of a database, and repairs it. The caller is within a transaction.
  /// - Parameter run: The file's record of the newest run. Is `nil` when the file does not exist or cannot be read.
  static func repair(_ db: Database, after run: RunRecord?, now: Timestamp) throws -> DataLoss? {
    let loss = try found(
      file: run, database: Installation.counter(db), boot: RunRecord.thisBoot,
      isReplica: Installation.position(db) != nil)
    if let loss {
      try Transaction(db: db, cache: WriterCache(), clock: ClockReading(now: now), maxSlice: nil).repair(loss)
    }
    return loss
  }
}

/// The repair of a database that has lost commits, at the start.
extension Transaction {
  /// The note of a job that was cancelled because its database is a backup.
  static let restoredNote = "restored from a backup"

  /// Begins a new epoch in every room, because clients may hold messages that the database has lost, and the room will
  /// use their seqs for other messages.
  ///
  /// After a restore, no message of the backup is pushed, because the lost run has already pushed most of them. After a
  /// loss of power, only seconds are lost, so the jobs stay. A push may then be sent twice, as after every crash.
  func repair(_ loss: DataLoss) throws {
    try db.run("UPDATE rooms SET epoch = lower(hex(randomblob(8)))")
    try db.run("UPDATE inbox SET epoch = lower(hex(randomblob(8)))")
    guard loss == .restored else { return }
    try db.run("DELETE FROM jobs WHERE \(Schema.updates)")
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.cancelled.assignment), note = ?, finished_at = ?, lease = NULL,
        is_unknown = is_unknown OR state = 'sending'
      WHERE \(Schema.unfinished) AND \(JobEvent.cancelled.condition)
      """,
      [Self.restoredNote, now.rawValue])
    try db.run("UPDATE rooms SET cursor = seq WHERE cursor < seq")
  }
}
