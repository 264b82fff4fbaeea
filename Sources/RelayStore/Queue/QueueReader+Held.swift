// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A job that is neither finished nor being sent, with the facts for a new decision.
public struct OpenJob: Equatable, Sendable {
  public var id: String
  public var room: RoomID
  /// ``JobState/waiting``, `held`, `merged`, `ready` or `retrying`.
  public var state: JobState
  public var due: Timestamp
  public var created: Timestamp
  /// The sum of the steps of the wall clock at ``created``.
  public var steps: Duration
  /// True if the push may have reached the phone.
  public var isUnknown: Bool
  public var level: Level?
  public var isNotifyAnyway: Bool
  /// True if the job is or was a digest head. Its level is then that of its most urgent message.
  public var isDigest: Bool
  /// The digest head: the job whose push contains this job's message.
  public var mergedInto: String?
  /// Jobs of a device with the same value replace the same push. Is `nil` for the push of the job's own message.
  public var collapse: String?
  public var message: MessageHead
  /// The recipient's marks in the room. Is `nil` when the recipient is not a member.
  public var marks: Marks?
  /// The device as it is registered now. Is `nil` when it is not registered.
  public var device: Device?

  public init(
    id: String, room: RoomID, state: JobState, due: Timestamp, created: Timestamp, steps: Duration = .zero,
    isUnknown: Bool = false,
    level: Level? = nil, isNotifyAnyway: Bool = false, isDigest: Bool = false, mergedInto: String? = nil,
    collapse: String? = nil,
    message: MessageHead, marks: Marks?,
    device: Device?
  ) {
    self.id = id
    self.room = room
    self.state = state
    self.due = due
    self.created = created
    self.steps = steps
    self.isUnknown = isUnknown
    self.level = level
    self.isNotifyAnyway = isNotifyAnyway
    self.isDigest = isDigest
    self.mergedInto = mergedInto
    self.collapse = collapse
    self.message = message
    self.marks = marks
    self.device = device
  }
}

extension QueueReader {
  /// A page of a user's jobs that can be decided again, and the start of the next page. The newest job is the first.
  /// The start is `nil` on the last page.
  /// - Parameter before: The start that the previous page returned. Is `nil` for the first page.
  public func openJobs(
    of user: UserID, before: Int64? = nil, limit: Int = 1_000
  ) throws -> (jobs: [OpenJob], next: Int64?) {
    guard let id = try db.first("SELECT id FROM users WHERE name = ?", [user.rawValue])?[0] as Int64? else {
      return ([], nil)
    }
    // Without `INDEXED BY`, SQLite uses the index of all the user's jobs, most of which are finished.
    let jobs = try db.all(
      """
      SELECT job.number, job.id, rooms.name AS room, job.state, job.due, job.created, job.steps, job.is_unknown, job.level,
        job.is_notify_anyway, job.digest IS NOT NULL AS is_digest,
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
    ) { (number: $0["number"] as Int64, job: try OpenJob($0)) }
    return (jobs.map(\.job), jobs.count < limit ? nil : jobs.last?.number)
  }

  /// True if a silence holds the texts of updates of the user's phones.
  public func hasSilencedUpdates(of user: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs INDEXED BY jobs_updates
      WHERE \(Schema.updates) AND user = (SELECT id FROM users WHERE name = ?) AND is_late
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

extension OpenJob {
  /// The columns of ``QueueReader/openJobs(of:before:limit:)``.
  fileprivate init(_ row: Row) throws {
    let read: Int64? = row["read"]
    self.init(
      id: row["id"], room: RoomID(unchecked: row["room"]), state: try row.choice("state"), due: row.timestamp("due"),
      created: row.timestamp("created"), steps: .milliseconds(row["steps"] as Int64), isUnknown: row["is_unknown"],
      level: try row.choiceIfAny("level"),
      isNotifyAnyway: row["is_notify_anyway"], isDigest: row["is_digest"], mergedInto: row["merged_into"],
      collapse: row["collapse"], message: try MessageHead(row),
      marks: read.map { Marks(read: $0, received: row["received"]) }, device: try Device(ifAny: row))
  }
}
