// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// Digests: several jobs that are sent as one push, because a silence has ended, or because earlier attempts failed.
///
/// One of the jobs is the digest head. Its push contains the messages of the others. These have the state `merged`,
/// refer to the head, and end with it. If only the head's own message is removed, because its job is cancelled or
/// expires, one of the others becomes the digest head.
struct Digests: TransactionPart {
  let transaction: Transaction

  /// Merges an open job, and the jobs that are merged into it, into another job of the same device.
  ///
  /// Both jobs are open and of the same device. The relay does not merge:
  /// - A job whose push may have reached the phone, unless the digest replaces this very push. The phone would show the
  ///   message twice.
  /// - A Notify Anyway, because the other messages of the digest must not break through a Focus with it.
  /// - Returns: False if the job was not merged.
  func merge(_ job: StoredJob, into head: StoredJob) throws -> Bool {
    let isSame = head.queue.user == job.queue.user && head.queue.device == job.queue.device
    guard isSame, head.id != job.id, head.isOpen, head.state != .merged, !head.isNotifyAnyway,
      job.state != .merged, !job.isNotifyAnyway, !job.isUnknown, job.collapse.map({ $0 == head.target }) ?? true
    else { return false }
    try absorb(job.number, digest: job.isDigest ? job.id : nil, into: head.id)
    try db.run("UPDATE jobs SET digest = coalesce(digest, '[]') WHERE number = ?", [head.number])
    try transaction.queue.promote(in: job.queue)
    return true
  }

  /// Stores a merge without the checks of ``merge(_:into:)``.
  /// - Parameter id: The id of the job if it is a digest head. Otherwise `nil`.
  func absorb(_ number: Int64, digest id: String?, into head: String) throws {
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.merged.assignment), merged_into = ?, is_next = 0, digest = NULL
      WHERE number = ? AND \(JobEvent.merged.condition)
      """,
      [head, number])
    if let id { try rebase(from: id, to: head) }
  }

  /// Takes a merged job out of its digest.
  /// - Parameters:
  ///   - event: ``JobEvent/held`` or ``JobEvent/released``.
  ///   - due: The due time in the new state.
  func separate(_ job: StoredJob, on event: JobEvent, due: Timestamp) throws {
    try db.run(
      """
      UPDATE jobs SET \(event.assignment), due = ?, merged_into = NULL, (collapse_room, collapse_seq) = (
        SELECT \(Self.inheritedCollapse) FROM jobs AS head WHERE head.id = jobs.merged_into)
      WHERE number = ? AND \(event.condition)
      """,
      [due.rawValue, job.number])
  }

  /// Splits a digest: its head becomes a single push, and the others form a digest without it.
  func split(_ job: StoredJob) throws {
    try handOver(job.id, isHeld: job.state == .held)
    try db.run("UPDATE jobs SET digest = NULL WHERE number = ?", [job.number])
  }

  /// The order of messages of several rooms: by the stepless clock, because a step between two messages would swap
  /// them. A message may wait longer than a later one, so the numbers of the jobs have another order.
  private static let newestFirst = "messages.time - job.steps DESC, job.seq DESC, job.number DESC"

  /// Promotes the newest merged job of a digest to its head. The new head gets the level of the old one.
  /// - Parameter isHeld: True if the old digest head was held.
  func handOver(_ id: String, isHeld: Bool) throws {
    try expireMerged(into: id)
    let newest = try db.first(
      """
      SELECT job.id, job.user, job.device, job.room FROM jobs AS job
      LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      WHERE \(Self.isMerged("job")) ORDER BY \(Self.newestFirst) LIMIT 1
      """,
      [id])
    guard let newest else { return }
    let head: String = newest["id"]
    let event: JobEvent = isHeld ? .held : .released
    try db.run(
      """
      UPDATE jobs SET \(event.assignment), merged_into = NULL, (due, is_late, collapse_room, collapse_seq) = (
        SELECT min(due, coalesce(jobs.expires - jobs.steps + ?2, due)), is_late, \(Self.inheritedCollapse)
        FROM jobs AS head WHERE head.id = jobs.merged_into)
      WHERE id = ?1 AND \(event.condition)
      """,
      [head, transaction.steps.milliseconds])
    if try rebase(from: id, to: head) {
      try db.run(
        "UPDATE jobs SET digest = '[]', level = (SELECT level FROM jobs WHERE id = ?) WHERE id = ?", [id, head])
    }
    if !isHeld { try transaction.queue.promote(in: JobQueue(newest)) }
  }

  /// Ends the jobs that are merged into another one and have expired.
  func expireMerged(into id: String) throws {
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.expired.assignment), note = 'expired', finished_at = ?2
      WHERE \(Self.isMerged("jobs")) AND expires - steps <= ?3
      """,
      [id, now.rawValue, transaction.steplessNow.rawValue])
  }

  /// Finishes the jobs that are merged into a job, at its end.
  func finishMerged(into id: String, now: Timestamp) throws {
    try db.run("UPDATE jobs SET finished_at = ?2 WHERE \(Self.isMerged("jobs"))", [id, now.rawValue])
  }

  /// True if an unfinished job is merged into this one.
  func isDigestHead(_ id: String) throws -> Bool {
    try db.has("SELECT 1 FROM jobs WHERE \(Self.isMerged("jobs"))", [id])
  }

  /// - Returns: True if any job was merged into the old digest head.
  @discardableResult
  private func rebase(from id: String, to head: String) throws -> Bool {
    try db.run("UPDATE jobs SET merged_into = ?2 WHERE \(Self.isMerged("jobs"))", [id, head])
    return db.changesCount > 0
  }

  /// A condition on an unfinished job: it is merged into the job `head`.
  static func isMerged(_ job: String, into head: String = "?1") -> String {
    "\(job).merged_into = \(head) AND \(job).state = 'merged' AND \(job).\(Schema.unfinished)"
  }

  /// The message of a push that this or an earlier digest head may have put on the phone. The next pushes of the digest
  /// replace that push.
  private static let inheritedCollapse = """
    coalesce(collapse_room, CASE WHEN is_unknown OR state = 'sending' THEN room END),
    coalesce(collapse_seq, CASE WHEN is_unknown OR state = 'sending' THEN seq END)
    """

  /// A message in a digest, by its job.
  struct Content {
    let job: String
    let number: Int64
  }

  /// The messages that a sent digest still has, the newest first. Is `nil` if the job is not a digest head.
  ///
  /// Leaves out messages that are deleted or read, of senders whom the recipient has blocked, and of rooms that the
  /// recipient has left.
  func content(of head: String) throws -> [Content]? {
    guard try db.has("SELECT 1 FROM jobs WHERE id = ? AND digest IS NOT NULL", [head]) else { return nil }
    return try db.all(
      """
      SELECT job.id, job.number FROM jobs AS job \(Self.facts)
      WHERE (job.id = ?1 OR job.merged_into = ?1 AND job.state = 'merged') AND members.read < job.seq
        AND NOT (\(Self.isLost))
      ORDER BY \(Self.newestFirst) LIMIT \(PushQueue.maxCoalesced)
      """,
      [head]
    ) { Content(job: $0["id"], number: $0["number"]) }
  }

  /// True if a sent digest has a message whose text the phone must not show any longer.
  func hasLost(_ head: String) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs AS job \(Self.facts)
      WHERE (job.id = ?1 OR job.merged_into = ?1 AND job.state = 'merged') AND (\(Self.isLost))
      """,
      [head])
  }

  private static let facts = """
    LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
    LEFT JOIN users AS sender ON sender.id = messages.sender
    LEFT JOIN members ON members.room = job.room AND members.user = job.user AND NOT members.is_withdrawn
    """

  /// A condition on a job with its ``facts``: the message is deleted, the recipient has blocked its sender, or has left
  /// the room.
  private static let isLost = """
    messages.seq IS NULL OR messages.is_deleted OR members.user IS NULL
    OR EXISTS (SELECT 1 FROM blocks WHERE blocks.user = job.user AND blocks.other = sender.name)
    """

  /// Returns the contents of a digest, without messages that were read or deleted meanwhile: the number of messages in
  /// the head's room, with the head's own, and the other rooms. `maxLevel` is the highest level of the merged messages,
  /// without the head's.
  /// - Parameter merged: A condition on `job`: its message is in the digest, and it is not the head.
  func digest(
    _ merged: String, _ arguments: StatementArguments, in room: Int64
  ) throws -> (count: Int, others: [ShownMessages.Other], maxLevel: Level?) {
    let rows = try db.all(
      """
      SELECT job.room, rooms.name, max(job.seq) AS newest, count(*) AS count,
        max(\(Self.level)) AS level
      FROM jobs AS job
      JOIN rooms ON rooms.id = job.room
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq AND NOT messages.is_deleted
      JOIN members ON members.room = job.room AND members.user = job.user AND members.read < job.seq
      WHERE \(merged) GROUP BY job.room ORDER BY max(messages.time - job.steps) DESC
      """,
      arguments)
    let own = rows.first { $0["room"] == room }
    let others = try rows.filter { $0["room"] != room }.prefix(ShownMessages.maxOthers).compactMap { row in
      try db.first(
        """
        SELECT sender.display_name, sender.avatar, \(StoredMessage.columns), \(PushRequest.columns)
        FROM messages JOIN users AS sender ON sender.id = messages.sender
        WHERE messages.room = ? AND messages.seq = ?
        """,
        [row["room"] as Int64, row["newest"] as Int64]
      ) { found in
        let message = try StoredMessage(found)
        return ShownMessages.Other(
          room: RoomID(unchecked: row["name"]), message: message, push: try PushRequest(found),
          sender: User(id: message.from, name: found.line("display_name"), avatar: found["avatar"]),
          count: row["count"])
      }
    }
    let level = rows.map { $0["level"] as Int }.max()
    return (1 + (own?["count"] ?? 0), others, level.map { Level.allCases[$0] })
  }

  /// The rank of a job's level. A job without a level has the level of its message. As this query does not read that
  /// level, it assumes the highest one.
  private static let level: String = {
    let ranks = Level.allCases.map { "WHEN '\($0.rawValue)' THEN \($0.rank)" }
    return "CASE job.level \(ranks.joined(separator: " ")) ELSE \(Level.critical.rank) END"
  }()
}
