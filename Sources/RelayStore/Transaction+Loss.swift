// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// The repair of a database that has lost commits, at the start.
extension Transaction {
  /// The note of a job that was cancelled because its database is a backup.
  static let restoredNote = "restored from a backup"

  /// Begins a new epoch in every room, because clients hold messages that the database does not hold, and the room
  /// gives their seqs to other messages.
  ///
  /// After a restore nothing is pushed for the messages of the backup: the run that is lost has pushed for most of
  /// them. A loss of power takes seconds, so that jobs stay, and a push may be sent twice, as after every crash.
  func repair(_ loss: DataLoss) throws {
    try db.run("UPDATE rooms SET epoch = lower(hex(randomblob(8)))")
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
