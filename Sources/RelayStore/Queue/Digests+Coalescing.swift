// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// Merges late jobs: messages that could not be sent at once are sent as one push.
///
/// A job is late if a gateway could not accept its push, or if the sender's pace delayed it. Later messages of the same
/// room are merged with it if their pushes would look and sound the same. Messages that can be sent at once stay
/// separate.
extension Digests {
  /// The maximum number of jobs that one call of ``PushQueue/claim(limit:now:leaseUntil:capacity:)`` reads. It may
  /// exceed this to complete a room. The next calls read the rest.
  static let maxMergedAtOnce = 2 * PushQueue.maxCoalesced

  /// Makes throttled jobs ready whose time has come, in the order of their rooms.
  func endWaits(now: Timestamp) throws {
    let ended = try db.all(
      "SELECT user, device, room FROM jobs WHERE \(JobEvent.waitEnded.condition) AND due <= ? ORDER BY due LIMIT ?",
      [now.rawValue, PushQueue.maxCoalesced])
    for queue in Set(ended.map(JobQueue.init(_:))) {
      try db.run(
        """
        UPDATE jobs INDEXED BY jobs_aside SET \(JobEvent.waitEnded.assignment), is_late = 1
        WHERE \(Schema.aside) AND \(JobEvent.waitEnded.condition) AND user = ? AND room = ? AND device = ? AND due <= ?
        """,
        [queue.user, queue.room, queue.device, now.rawValue])
      try transaction.queue.promoteAgain(in: queue)
    }
  }

  /// Merges the due jobs of a queue whose first one is late.
  /// - Parameter budget: The number of jobs that may be read. It is reduced by the jobs that were read.
  /// - Returns: The first job after the merge, if it is due. Is `nil` if it is not, or if the budget is used up.
  func coalesce(
    _ queue: JobQueue, now: Timestamp, budget: inout Int, _ shared: inout Shared
  ) throws -> String? {
    guard budget > 0 else { return nil }
    let late = try lateJobs(in: queue, now: now, &shared)
    // The last job is merged in a later call, when it is the first of its queue.
    if late.count > PushQueue.maxCoalesced, let last = late.last {
      try db.run("UPDATE jobs SET is_late = 1 WHERE number = ?", [last.number])
    }
    budget -= late.count
    var groups: [LateJob.Look: (jobs: [LateJob], count: Int)] = [:]
    for job in late {
      if let group = groups[job.look], group.count + job.count > PushQueue.maxCoalesced {
        try merge(group.jobs)
        groups[job.look] = nil
      }
      groups[job.look, default: ([], 0)].jobs.append(job)
      groups[job.look, default: ([], 0)].count += job.count
    }
    for group in groups.values { try merge(group.jobs) }
    try transaction.queue.promote(in: queue)
    return try db.first(
      """
      SELECT id FROM jobs INDEXED BY jobs_member
      WHERE \(Schema.queued) AND user = ? AND room = ? AND device = ? AND is_next AND due <= ?
      """,
      [queue.user, queue.room, queue.device, now.rawValue])?[0]
  }

  /// The due jobs of a queue that may be merged, in the order of their messages. These jobs stay separate:
  /// - calls, and jobs that notify anyway
  /// - notifications without a room, because a digest names the room
  /// - pushes that may have reached the phone, because the phone would show their messages twice
  private func lateJobs(in queue: JobQueue, now: Timestamp, _ shared: inout Shared) throws -> [LateJob] {
    try db.all(
      """
      SELECT job.number, job.id, job.room, job.seq AS message_seq, job.digest IS NOT NULL AS is_digest, (
          SELECT count(*) FROM jobs AS other WHERE \(Self.isMerged("other", into: "job.id"))) AS merged,
        job.level, \(PushRequest.columns)
      FROM jobs AS job INDEXED BY jobs_member
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      JOIN rooms ON rooms.id = job.room AND NOT \(Schema.isNotifications("rooms.name"))
      WHERE job.\(Schema.queued) AND job.user = ? AND job.room = ? AND job.device = ? AND job.state <> 'sending'
        AND job.due <= ? AND coalesce(job.expires - job.steps > ?, 1) AND NOT job.is_notify_anyway
        AND NOT job.is_unknown AND job.collapse_room IS NULL AND messages.push_kind IS NULL
      ORDER BY job.seq LIMIT ?
      """,
      [
        queue.user, queue.room, queue.device, now.rawValue, (now - transaction.steps).rawValue,
        PushQueue.maxCoalesced + 1,
      ]
    ) { try LateJob($0, push: shared.push($0)) }
  }

  /// Merges jobs into the last of them. This one gets the earliest due time and the most attempts of all.
  private func merge(_ jobs: [LateJob]) throws {
    guard jobs.count > 1, let head = jobs.last else { return }
    try db.run(
      """
      UPDATE jobs SET digest = coalesce(digest, '[]'), is_late = 1, (due, attempts) = (
        SELECT min(due), max(attempts) FROM jobs AS other WHERE other.number IN (SELECT value FROM json_each(?2)))
      WHERE number = ?1
      """,
      [head.number, StoredJSON.text(of: jobs.map(\.number))])
    for job in jobs.dropLast() { try absorb(job.number, digest: job.isDigest ? job.id : nil, into: head.id) }
  }
}

/// The facts about a job that merging needs.
private struct LateJob {
  let number: Int64
  let id: String
  let isDigest: Bool
  /// The number of messages in its push.
  let count: Int
  let look: Look

  /// Jobs are merged only if their looks are equal.
  struct Look: Hashable {
    let level: Level
    let push: PushRequest.Look
  }

  /// - Parameter row: A row of ``Digests/lateJobs(in:now:_:)``.
  init(_ row: Row, push: PushRequest) throws {
    number = row["number"]
    id = row["id"]
    isDigest = row["is_digest"]
    count = 1 + (row["merged"] as Int)
    look = Look(level: try row.choiceIfAny("level") ?? push.level, push: push.look)
  }
}
