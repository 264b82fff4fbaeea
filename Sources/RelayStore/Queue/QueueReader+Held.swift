// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

extension QueueReader {
  /// A page of a user's jobs that can be decided again, and the start of the next page. The newest job is the first.
  /// The start is `nil` on the last page.
  /// - Parameter before: The start that the previous page returned. Is `nil` for the first page.
  public func openJobs(
    of user: UserID, before: Int64? = nil, limit: Int = 1_000
  ) throws -> (jobs: [OpenPush], next: Int64?) {
    guard let id = try db.first("SELECT id FROM users WHERE name = ?", [user.rawValue])?[0] as Int64? else {
      return ([], nil)
    }
    // Without `INDEXED BY`, SQLite uses the index of all the user's jobs, most of which are finished.
    let jobs = try db.all(
      """
      SELECT job.number, job.id, rooms.name AS room, job.state = 'held' AS is_held, job.due, job.steps,
        job.is_unknown, job.level, job.is_notify_anyway, job.digest IS NOT NULL AS is_digest,
        job.collapse_room || '/' || job.collapse_seq AS collapse, job.merged_into,
        members.read, members.received, \(MessageHead.columns), \(Device.columns)
      FROM jobs AS job
      JOIN rooms ON rooms.id = job.room
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      JOIN users AS sender ON sender.id = messages.sender
      LEFT JOIN members ON members.room = job.room AND members.user = job.user
      LEFT JOIN devices ON devices.user = job.user AND devices.device = job.device
      WHERE job.number < ?2 AND job.number IN (
        SELECT number FROM jobs INDEXED BY jobs_aside WHERE user = ?1 AND \(Schema.aside)
        UNION ALL
        SELECT number FROM jobs INDEXED BY jobs_member WHERE user = ?1 AND \(Schema.queued) AND state <> 'sending')
      ORDER BY job.number DESC LIMIT ?3
      """,
      [id, before ?? .max, limit]
    ) { (number: $0["number"] as Int64, job: try OpenPush($0)) }
    return (jobs.compactMap(\.job), jobs.count < limit ? nil : jobs.last?.number)
  }

  /// True if the user has a job that the facts about the user decide: an unfinished push, or an update that a silence
  /// holds.
  func hasOpenDecisions(of user: Int64) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs INDEXED BY jobs_member WHERE user = ?1 AND \(Schema.queued)
      UNION ALL
      SELECT 1 FROM jobs INDEXED BY jobs_aside WHERE user = ?1 AND \(Schema.aside)
      UNION ALL
      SELECT 1 FROM jobs INDEXED BY jobs_updates WHERE user = ?1 AND \(Schema.silenced)
      """, [user])
  }

  /// True if a silence holds the texts of updates of the user's phones.
  public func hasSilencedUpdates(of user: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs INDEXED BY jobs_updates
      WHERE user = (SELECT id FROM users WHERE name = ?) AND \(Schema.silenced)
      """,
      [user.rawValue])
  }

  /// The earliest due time of the held jobs. Is `nil` when no job is held.
  public func nextHeldDue() throws -> Timestamp? {
    try db.first("SELECT min(due) FROM jobs WHERE state = 'held'")?.time(0)
  }

  /// Users with held jobs that are due at `time` or before. The earliest due time is the first.
  public func heldUsers(dueBy time: Timestamp, limit: Int) throws -> [UserID] {
    let statement = try db.cachedStatement(
      sql: """
        SELECT users.id, users.name FROM jobs JOIN users ON users.id = jobs.user
        WHERE state = 'held' AND due <= ? ORDER BY due
        """)
    var known: Set<Int64> = []
    var users: [UserID] = []
    let rows = try Row.fetchCursor(statement, arguments: [time.rawValue])
    while users.count < limit, let row = try rows.next() {
      if known.insert(row["id"]).inserted { users.append(UserID(unchecked: row["name"])) }
    }
    return users
  }
}

extension QueueReader {
  /// True if a fact of the decision may have changed since the job was made. For example, the fact changed while the
  /// job was being sent and could not be decided again.
  public func isOutdated(_ id: String) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs
      JOIN users ON users.id = jobs.user
      LEFT JOIN members ON members.room = jobs.room AND members.user = jobs.user
      WHERE jobs.id = ? AND (users.changed >= jobs.created - jobs.steps OR members.received >= jobs.seq)
      """,
      [id])
  }

  /// Users with a changed fact and an unfinished job from before that change, in the order of their rows. Users with
  /// only held jobs are left out.
  /// - Parameter after: The last user of the previous page. Is `nil` for the first page.
  public func changedUsers(after user: UserID?, limit: Int) throws -> [UserID] {
    // Two conditions, because each uses another index.
    let hasChanged = [
      ("jobs_member", Schema.queued), ("jobs_aside", "\(Schema.aside) AND state <> 'held'"),
    ].map { index, states in
      """
      EXISTS (
        SELECT 1 FROM jobs INDEXED BY \(index)
        WHERE jobs.user = users.id AND \(states) AND jobs.created - jobs.steps <= users.changed)
      """
    }
    return try db.all(
      """
      SELECT name FROM users
      WHERE id > coalesce((SELECT id FROM users WHERE name = ?), 0) AND changed IS NOT NULL
        AND (\(hasChanged.joined(separator: " OR ")))
      ORDER BY id LIMIT ?
      """,
      [user?.rawValue, limit]
    ).map { UserID(unchecked: $0[0]) }
  }
}

extension OpenPush {
  /// The columns of ``QueueReader/openJobs(of:before:limit:)``. Returns `nil` if the device is no longer registered. The
  /// store has ended such a job.
  fileprivate init?(_ row: Row) throws {
    guard let device = try Device(ifAny: row) else { return nil }
    let read: Int64? = row["read"]
    self.init(
      id: row["id"], room: RoomID(unchecked: row["room"]), message: try MessageHead(row),
      steps: .milliseconds(row["steps"] as Int64), device: device, isHeld: row["is_held"], due: row.timestamp("due"),
      level: try row.choiceIfAny("level"), isUnknown: row["is_unknown"], isNotifyAnyway: row["is_notify_anyway"],
      isDigest: row["is_digest"], mergedInto: row["merged_into"], collapse: row["collapse"],
      marks: read.map { Marks(read: $0, received: row["received"]) })
  }
}
