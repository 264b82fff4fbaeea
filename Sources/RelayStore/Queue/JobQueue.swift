// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The jobs of one room for one device, which go out in the order of their messages.
struct JobQueue: Hashable {
  let user: Int64
  let device: String
  let room: Int64

  init(user: Int64, device: String, room: Int64) {
    self.user = user
    self.device = device
    self.room = room
  }

  /// - Parameter row: Has the columns `user`, `device` and `room`.
  init(_ row: Row) {
    self.init(user: row["user"], device: row["device"], room: row["room"])
  }
}

extension Transaction {
  /// Marks the first queued job, and no other job of the queue, as the next. Call this after each change of one job:
  /// the job that was the next one is now the first or the second.
  func promote(in queue: JobQueue) throws {
    let firstTwo = try db.all(
      """
      SELECT number, is_next FROM jobs INDEXED BY jobs_member
      WHERE \(Schema.queued) AND user = ? AND room = ? AND device = ? ORDER BY seq, round LIMIT 2
      """,
      [queue.user, queue.room, queue.device])
    for (place, row) in firstTwo.enumerated() where (row["is_next"] as Bool) != (place == 0) {
      try db.run("UPDATE jobs SET is_next = ? WHERE number = ?", [place == 0, row["number"] as Int64])
    }
  }

  /// The same after changes of several jobs: reads all jobs of the queue.
  func promoteAnew(in queue: JobQueue) throws {
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

/// The facts about a job that a change of the job needs.
struct StoredJob {
  let number: Int64
  let id: String
  let queue: JobQueue
  let seq: Int64
  let round: Int
  let isFinished: Bool
  let state: JobState
  /// Its push may have reached the phone.
  let isUnknown: Bool
  let isNotifyAnyway: Bool
  /// True for a digest head, and for a job that was one.
  let isDigest: Bool
  let mergedInto: String?
  /// The message whose push it replaces; nil: its own.
  let collapse: (room: Int64, seq: Int64)?

  static let columns = """
    number, id, user, device, room, seq, round, finished_at IS NOT NULL AS is_finished, state, is_notify_anyway,
    digest IS NOT NULL AS is_digest, merged_into, collapse_room, collapse_seq, is_unknown
    """

  init(_ row: Row) throws {
    number = row["number"]
    id = row["id"]
    queue = JobQueue(row)
    seq = row["seq"]
    round = row["round"]
    isFinished = row["is_finished"]
    state = try row.choice("state")
    isNotifyAnyway = row["is_notify_anyway"]
    isDigest = row["is_digest"]
    mergedInto = row["merged_into"]
    isUnknown = row["is_unknown"]
    let room: Int64? = row["collapse_room"]
    let seq: Int64? = row["collapse_seq"]
    collapse = room.flatMap { room in seq.map { (room, $0) } }
  }

  /// Neither finished nor being sent.
  var isOpen: Bool { !isFinished && state != .sending }

  /// The message under whose collapse id its push goes out.
  var target: (room: Int64, seq: Int64) { collapse ?? (queue.room, seq) }
}

extension Transaction {
  func storedJob(_ id: String) throws -> StoredJob? {
    try db.first("SELECT \(StoredJob.columns) FROM jobs WHERE id = ?", [id], StoredJob.init(_:))
  }
}
