// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The jobs of one room for one device, which go out in the order of their messages.
struct JobQueue: Hashable {
  let user: Int64
  let device: String
  let room: Int64
}

extension Transaction {
  /// Marks the first queued job, and it alone, as the next. To be called after each change of them: whoever was the
  /// next one until now is the first, or has just been pushed to the second place.
  func appoint(in queue: JobQueue) throws {
    let firstTwo = try db.all(
      """
      SELECT number, is_next FROM jobs INDEXED BY jobs_member
      WHERE \(Schema.queued) AND user = ? AND room = ? AND device = ? ORDER BY seq, round LIMIT 2
      """,
      [queue.user, queue.room, queue.device])
    for (place, row) in firstTwo.enumerated() where (row[1] as Bool) != (place == 0) {
      try db.run("UPDATE jobs SET is_next = ? WHERE number = ?", [place == 0, row[0] as Int64])
    }
  }

  /// The same where several have come at once: looks at all of them.
  func appointAnew(in queue: JobQueue) throws {
    let condition = "\(Schema.queued) AND user = ?1 AND room = ?2 AND device = ?3"
    try db.run(
      """
      UPDATE jobs INDEXED BY jobs_member SET is_next = NOT is_next
      WHERE \(condition) AND is_next <> (number = (
        SELECT number FROM jobs INDEXED BY jobs_member WHERE \(condition) ORDER BY seq, round LIMIT 1))
      """,
      [queue.user, queue.room, queue.device])
  }
}

/// What a change of a job has to know of it.
struct StoredJob {
  let row: Int64
  let id: String
  let queue: JobQueue
  let seq: Int64
  let round: Int
  /// Whether it is finished, whatever its state.
  let isFinished: Bool
  let state: JobState
  let attempts: Int
  /// Its push may have reached the phone.
  let isUnknown: Bool
  let isNotifyAnyway: Bool
  /// Others are merged into it, or were.
  let isDigest: Bool
  let mergedInto: String?
  /// The message whose push it replaces; nil: its own.
  let collapse: (room: Int64, seq: Int64)?

  static let columns = """
    number, id, user, device, room, seq, round, finished_at IS NOT NULL, state, attempts, is_notify_anyway,
    digest IS NOT NULL, merged_into, collapse_room, collapse_seq, is_unknown
    """

  init(_ row: Row) throws {
    self.row = row[0]
    id = row[1]
    queue = JobQueue(user: row[2], device: row[3], room: row[4])
    seq = row[5]
    round = row[6]
    isFinished = row[7]
    state = try row.choice(8)
    attempts = row[9]
    isNotifyAnyway = row[10]
    isDigest = row[11]
    mergedInto = row[12]
    isUnknown = row[15]
    let room: Int64? = row[13]
    let seq: Int64? = row[14]
    collapse = room.flatMap { room in seq.map { (room, $0) } }
  }

  /// Neither finished nor on its way to a gateway.
  var isOpen: Bool { !isFinished && state != .sending }

  /// The message under whose collapse id its push goes out.
  var target: (room: Int64, seq: Int64) { collapse ?? (queue.room, seq) }
}

extension Transaction {
  func storedJob(_ id: String) throws -> StoredJob? {
    try db.first("SELECT \(StoredJob.columns) FROM jobs WHERE id = ?", [id]).map(StoredJob.init(_:))
  }
}
