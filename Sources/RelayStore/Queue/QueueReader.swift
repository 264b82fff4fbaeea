// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

/// Reads the push queue.
public struct QueueReader {
  let db: Database

  /// Returns `nil` when the job does not exist.
  public func job(_ id: String) throws -> JobRecord? {
    try db.first("\(JobRecord.query) WHERE jobs.id = ? AND jobs.kind = 'push'", [id], JobRecord.init(_:))
  }

  /// The messages in a job's push whose senders request delivery reports, with these senders: the job's own message and
  /// those of the jobs that are merged into it.
  public func reported(by id: String, limit: Int) throws -> [(message: MessageReference, sender: UserID)] {
    try db.all(
      """
      SELECT rooms.name AS room_name, messages.seq, users.name AS user_name FROM jobs
      JOIN rooms ON rooms.id = jobs.room
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq AND messages.reports
      JOIN users ON users.id = messages.sender
      WHERE jobs.number IN (
        SELECT number FROM jobs WHERE id = ?1
        UNION ALL
        SELECT number FROM jobs WHERE merged_into = ?1 AND state = 'merged')
      ORDER BY jobs.number LIMIT ?2
      """,
      [id, limit]
    ).map {
      (MessageReference(room: RoomID(unchecked: $0["room_name"]), seq: $0["seq"]), UserID(unchecked: $0["user_name"]))
    }
  }

  /// The next time at which a job can be claimed. Is `nil` when no job waits. Includes the next job of each queue, the
  /// ends of leases, throttled jobs and updates. Further jobs of a device can be claimed only after the one that is
  /// being sent.
  /// - Parameter capacity: The capacity of each lane, as in ``PushQueue/claimDue(limit:now:leaseUntil:capacity:)``.
  ///   Lanes with a capacity of 0 do not count.
  public func nextDue(capacity: [Lane: Int] = [:]) throws -> Timestamp? {
    let jobs = try lanes().filter { capacity[$0] != 0 }.map { lane in
      try db.first(
        "SELECT due FROM jobs AS job WHERE \(Self.isClaimable) AND lane = ? ORDER BY due LIMIT 1", [lane.name])
    }
    let lease = try db.first("SELECT min(lease) FROM jobs WHERE state = 'sending'")
    let throttled = try db.first("SELECT min(due) FROM jobs WHERE state = 'waiting'")
    let times: [Int64?] = (jobs + [lease, throttled]).map { $0?[0] }
    return times.compactMap { $0 }.min().map(Timestamp.init(rawValue:))
  }

  /// True if ``UpdateQueue/storePending()`` has anything to store.
  public func hasPendingUpdates() throws -> Bool { try db.has("SELECT 1 FROM pending_changes") }

  /// The number of message pushes in each state that has any.
  public func jobCounts() throws -> [JobState: Int] {
    var counts: [JobState: Int] = [:]
    for row in try db.all("SELECT state, count(*) AS count FROM jobs WHERE kind = 'push' GROUP BY state") {
      counts[try row.choice("state")] = row["count"]
    }
    return counts
  }

  /// The number of unfinished jobs by state, and the age of the oldest job that waits only for its gateway. The number
  /// of finished jobs does not affect the duration.
  public func unfinishedJobs(at moment: Moment) throws -> (counts: [JobState: Int], oldestAge: Duration?) {
    var counts: [JobState: Int] = [:]
    var oldest: Timestamp?
    let queued = try db.all(
      """
      SELECT state, count(*) AS count, min(created - steps) AS oldest FROM jobs INDEXED BY jobs_member
      WHERE \(Schema.queued) GROUP BY state
      """)
    for row in queued {
      counts[try row.choice("state")] = row["count"]
      let created = row.timestamp("oldest")
      oldest = min(oldest ?? created, created)
    }
    let aside = try db.all(
      "SELECT state, count(*) AS count FROM jobs INDEXED BY jobs_aside WHERE \(Schema.aside) GROUP BY state")
    for row in aside { counts[try row.choice("state")] = row["count"] }
    return (counts, oldest.map { max(.zero, moment.stepless - $0) })
  }

  /// True if the push `id` is addressed to this device.
  public func isPush(_ id: String, to device: DeviceID, of user: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs JOIN users ON users.id = jobs.user
      WHERE jobs.id = ? AND jobs.kind = 'push' AND users.name = ? AND jobs.device = ?
      """,
      [id, user.rawValue, device.rawValue])
  }

  /// The users who were silenced when a message was sent and have not been notified since, sorted by name.
  public func silenced(_ room: RoomID, _ seq: Int64) throws -> [UserID] {
    try db.all(
      """
      SELECT users.name FROM silenced JOIN users ON users.id = silenced.user
      WHERE room = (SELECT id FROM rooms WHERE name = ?) AND seq = ? AND notified IS NULL ORDER BY users.name
      """,
      [room.rawValue, seq]
    ).map { UserID(unchecked: $0[0]) }
  }

  /// A condition on `job`: it can be claimed as soon as it is due.
  static let isClaimable = """
    job.\(Schema.open) AND job.is_next AND (job.\(Schema.updates) OR NOT EXISTS (
      SELECT 1 FROM jobs AS other
      WHERE other.state = 'sending' AND other.kind = 'push' AND other.user = job.user AND other.device = job.device))
    """
}
