// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The jobs of one room for one device. They are sent in the order of their messages.
struct JobQueue: Hashable {
  let user: Int64
  let device: String
  let room: Int64
}

extension JobQueue {
  /// - Parameter row: Has the columns `user`, `device` and `room`.
  init(_ row: Row) {
    self.init(user: row["user"], device: row["device"], room: row["room"])
  }
}

/// The columns of a job that a change of it needs.
struct StoredJob {
  let number: Int64
  let id: String
  let queue: JobQueue
  let seq: Int64
  let round: Int
  let isFinished: Bool
  let state: JobState
  /// True if its push may have reached the phone.
  let isUnknown: Bool
  let isNotifyAnyway: Bool
  /// True for a digest head, and for a job that was one.
  let isDigest: Bool
  let mergedInto: String?
  /// The message whose push it replaces. Is `nil` for its own message.
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

  /// True if the job is neither finished nor being sent.
  var isOpen: Bool { !isFinished && state != .sending }

  /// The message whose collapse id its push has.
  var target: (room: Int64, seq: Int64) { collapse ?? (queue.room, seq) }
}
