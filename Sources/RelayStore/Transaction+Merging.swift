// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// Jobs that go out with another one's push, because a silence has ended or they could not go out at once.
///
/// They are `merged` and refer to the job that carries them. They end with it, unless it is cancelled or expires, which
/// only concerns its own message: then one of them carries the others.
extension Transaction {
  /// Merges an open job, and what was merged into it, into another one of the same device.
  ///
  /// Nothing is merged that may have reached the phone, because it would stand there twice, unless the push replaces
  /// that very one; and nothing that is to notify anyway, because the others are not to.
  func merge(_ job: StoredJob, into carrier: StoredJob) throws -> Bool {
    let isSame = carrier.queue.user == job.queue.user && carrier.queue.device == job.queue.device
    guard isSame, carrier.id != job.id, carrier.isOpen, carrier.state != .merged, !carrier.isNotifyAnyway,
      job.state != .merged, !job.isNotifyAnyway, !job.isUnknown, job.collapse.map({ $0 == carrier.target }) ?? true
    else { return false }
    try absorb(row: job.row, id: job.isDigest ? job.id : nil, into: carrier.id)
    try db.run("UPDATE jobs SET digest = coalesce(digest, '[]') WHERE number = ?", [carrier.row])
    try appoint(in: job.queue)
    return true
  }

  /// - Parameter id: Of the job, where others are merged into it; nil: none is.
  func absorb(row: Int64, id: String?, into carrier: String) throws {
    try db.run(
      "UPDATE jobs SET state = 'merged', merged_into = ?, is_next = 0, digest = NULL WHERE number = ?", [carrier, row])
    if let id { try rebase(from: id, to: carrier) }
  }

  /// Has a merged job go its own way again.
  /// - Parameter due: When, in its new state.
  func separate(_ job: StoredJob, as state: JobState, due: Timestamp) throws {
    try db.run(
      """
      UPDATE jobs SET state = ?, due = ?, merged_into = NULL, (collapse_room, collapse_seq) = (
        SELECT \(Self.collapseOfHeir) FROM jobs AS carrier WHERE carrier.id = jobs.merged_into)
      WHERE number = ?
      """,
      [state.rawValue, due.rawValue, job.row])
  }

  /// Has a digest go by itself, and what it was to carry without it.
  func disband(_ job: StoredJob) throws {
    try bequeath(job.id, isHeld: job.state == .held)
    try db.run("UPDATE jobs SET digest = NULL WHERE number = ?", [job.row])
  }

  /// Makes the newest message that a cancelled job was to carry the carrier of the others, as loud as that one was.
  /// - Parameter isHeld: Whether the job was.
  func bequeath(_ id: String, isHeld: Bool) throws {
    try expireMerged(into: id)
    let newest = try db.first(
      """
      SELECT job.id, job.user, job.device, job.room FROM jobs AS job
      LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      WHERE \(Self.isMerged("job")) ORDER BY messages.time DESC, job.number DESC LIMIT 1
      """,
      [id])
    guard let newest else { return }
    let heir: String = newest[0]
    try db.run(
      """
      UPDATE jobs SET state = ?, merged_into = NULL, (due, is_late, collapse_room, collapse_seq) = (
        SELECT min(due, coalesce(jobs.expires, due)), is_late, \(Self.collapseOfHeir)
        FROM jobs AS carrier WHERE carrier.id = jobs.merged_into)
      WHERE id = ?
      """,
      [(isHeld ? JobState.held : .ready).rawValue, heir])
    if try rebase(from: id, to: heir) {
      try db.run(
        "UPDATE jobs SET digest = '[]', level = (SELECT level FROM jobs WHERE id = ?) WHERE id = ?", [id, heir])
    }
    if !isHeld { try appoint(in: JobQueue(user: newest[1], device: newest[2], room: newest[3])) }
  }

  /// Ends what was to be told with a job's push and has expired.
  func expireMerged(into id: String) throws {
    try db.run(
      """
      UPDATE jobs SET state = 'expired', note = 'expired', finished_at = ?2
      WHERE \(Self.isMerged("jobs")) AND expires <= ?2
      """,
      [id, now.rawValue])
  }

  func finishMerged(into id: String, now: Timestamp) throws {
    try db.run("UPDATE jobs SET finished_at = ?2 WHERE \(Self.isMerged("jobs"))", [id, now.rawValue])
  }

  /// Whether something is merged into a job.
  func carries(_ id: String) throws -> Bool { try db.has("SELECT 1 FROM jobs WHERE \(Self.isMerged("jobs"))", [id]) }

  /// Whether there was any.
  @discardableResult
  private func rebase(from id: String, to carrier: String) throws -> Bool {
    try db.run("UPDATE jobs SET merged_into = ?2 WHERE \(Self.isMerged("jobs"))", [id, carrier])
    return db.changesCount > 0
  }

  /// A condition on a job: it is merged into another one, which is not finished.
  static func isMerged(_ job: String, into carrier: String = "?1") -> String {
    "\(job).merged_into = \(carrier) AND \(job).state = 'merged' AND \(job).\(Schema.unfinished)"
  }

  /// What a `carrier`, or one before it, may have put on the phone, its heirs replace.
  private static let collapseOfHeir = """
    coalesce(collapse_room, CASE WHEN is_unknown OR state = 'sending' THEN room END),
    coalesce(collapse_seq, CASE WHEN is_unknown OR state = 'sending' THEN seq END)
    """

  /// What the push of a job tells of beside its own message, without what was read or deleted meanwhile.
  func digest(of id: String, in room: Int64) throws -> (count: Int, others: [Claim.Other]) {
    let rows = try db.all(
      """
      SELECT job.room, rooms.name, max(job.seq), count(*), messages.time FROM jobs AS job
      JOIN rooms ON rooms.id = job.room
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq AND NOT messages.is_deleted
      JOIN members ON members.room = job.room AND members.user = job.user AND members.read < job.seq
      WHERE \(Self.isMerged("job")) GROUP BY job.room ORDER BY messages.time DESC
      """,
      [id])
    let own = rows.first { $0[0] == room }
    let others = try rows.filter { $0[0] != room }.prefix(Claim.mostOthers).compactMap { row in
      try db.first(
        """
        SELECT sender.display_name, sender.avatar, \(StoredMessage.columns)
        FROM messages JOIN users AS sender ON sender.id = messages.sender
        WHERE messages.room = ? AND messages.seq = ?
        """,
        [row[0] as Int64, row[2] as Int64]
      ).map { found in
        let message = try StoredMessage(found, at: 2)
        return Claim.Other(
          room: RoomID(unchecked: row[1]), message: message,
          sender: User(id: message.from, name: found[0], avatar: found[1]), count: row[3])
      }
    }
    return (1 + (own?[3] ?? 0), others)
  }
}
