// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

extension Transaction {
  /// Stores jobs for a message. Where one exists for the same message and device, whatever its state, that one stays:
  /// a message that is decided again after a crash rings nobody twice. For a device that is not registered any
  /// more, or somebody who has left, the job is cancelled at once.
  /// - Returns: The ids of the new jobs that are to be sent. Throws ``StoreError/noRoom(_:)``.
  @discardableResult
  public func insert(_ jobs: [JobDraft], room: RoomID, seq: Int64) throws -> [String] {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    return try insert(jobs, known, seq: seq, now: now)
  }

  func insert(_ jobs: [JobDraft], _ room: WriterCache.Room, seq: Int64, now: Timestamp) throws -> [String] {
    var ids: [String] = []
    for job in jobs {
      let queue = try JobQueue(user: needRow(of: job.user), device: job.device.rawValue, room: room.id)
      let obstacle = try obstacle(to: queue)
      let state: JobState = obstacle != nil ? .cancelled : job.due > now ? .waiting : .ready
      let id = UUID().uuidString.lowercased()
      try db.run(
        """
        INSERT INTO jobs
          (id, room, seq, user, device, platform, token, state, is_next, due, created, reasons, finished_at, note)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)
        ON CONFLICT (user, device, room, seq) DO NOTHING
        """,
        [
          id, room.id, seq, queue.user, queue.device, job.platform.rawValue, job.token, state.rawValue,
          job.due.rawValue, now.rawValue, Self.text(of: job.reasons), obstacle == nil ? nil : now.rawValue, obstacle,
        ])
      guard obstacle == nil, db.changesCount == 1 else { continue }
      try appoint(in: queue)
      ids.append(id)
    }
    return ids
  }

  /// What has come between the decision and its transaction.
  private func obstacle(to queue: JobQueue) throws -> String? {
    guard try db.has("SELECT 1 FROM devices WHERE user = ? AND device = ?", [queue.user, queue.device]) else {
      return "no device"
    }
    let isMember = try db.has("SELECT 1 FROM members WHERE room = ? AND user = ?", [queue.room, queue.user])
    return isMember ? nil : "not a member"
  }

  /// Cancels the user's jobs for messages of the room up to `seq` that are not being sent.
  /// - Returns: How many there were.
  @discardableResult
  public func cancel(_ room: RoomID, _ user: UserID, upTo seq: Int64, reason: String) throws -> Int {
    guard let known = try row(of: room), let id = try row(of: user) else { return 0 }
    let cancelled = try db.all(
      """
      UPDATE jobs SET state = 'cancelled', note = ?, finished_at = ?
      WHERE \(Schema.unfinished) AND state <> 'sending' AND room = ? AND user = ? AND seq <= ?
      RETURNING device
      """,
      [reason, now.rawValue, known.id, id, seq])
    for device in Set(cancelled.map { $0[0] as String }) {
      try appoint(in: JobQueue(user: id, device: device, room: known.id))
    }
    return cancelled.count
  }

  /// Ends a job. One that was cancelled while it was being sent may still be `sent`: what happened counts.
  /// - Returns: false when there is no such job that can end so.
  @discardableResult
  public func finish(_ id: String, state: FinishedState, note: String? = nil, now: Timestamp) throws -> Bool {
    let finished = try db.all(
      """
      UPDATE jobs SET state = ?1, note = ?2, finished_at = ?3, lease = NULL
      WHERE id = ?4 AND (\(Schema.unfinished) OR ?1 = 'sent' AND state = 'cancelled' AND attempts > 0)
      RETURNING user, device, room
      """,
      [state.rawValue, note, now.rawValue, id])
    guard let row = finished.first else { return false }
    try appoint(in: JobQueue(user: row[0], device: row[1], room: row[2]))
    return true
  }

  /// Has a claimed job sent again at `due`. Later ones of its room and device do not overtake it.
  /// - Returns: false when it is not claimed any more.
  @discardableResult
  public func retry(_ id: String, due: Timestamp, note: String? = nil) throws -> Bool {
    try db.run(
      "UPDATE jobs SET state = 'retrying', due = ?, note = ?, lease = NULL WHERE id = ? AND state = 'sending'",
      [due.rawValue, note, id])
    return db.changesCount == 1
  }

  /// Gives back every claim, for the start: who had them is gone.
  public func releaseLeases() throws {
    try db.run("UPDATE jobs SET state = 'ready', lease = NULL WHERE state = 'sending'")
  }

  /// Deletes jobs that finished before `time`, at most ``mostPurged`` of them.
  /// - Returns: How many; when it is ``mostPurged``, there may be more.
  @discardableResult
  public func purge(finishedBefore time: Timestamp) throws -> Int {
    try db.run(
      """
      DELETE FROM jobs WHERE id IN
        (SELECT id FROM jobs WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?)
      """,
      [time.rawValue, Self.mostPurged])
    return db.changesCount
  }

  /// So that no message waits long for a purge.
  public static let mostPurged = 1_000

  /// Cancels unfinished jobs that have lost their reason, those being sent as well: they must not be tried again.
  func abandonJobs(_ condition: String, _ arguments: StatementArguments, note: String) throws {
    try db.run(
      """
      UPDATE jobs SET state = 'cancelled', note = ?, finished_at = ?, lease = NULL
      WHERE \(Schema.unfinished) AND \(condition)
      """,
      [note, now.rawValue] + arguments)
  }

  /// Marks the first unfinished job of the queue, and it alone, as the next. To be called after each change of them.
  private func appoint(in queue: JobQueue) throws {
    let firstTwo = try db.all(
      """
      SELECT rowid, is_next FROM jobs WHERE \(Schema.unfinished) AND user = ? AND device = ? AND room = ?
      ORDER BY seq LIMIT 2
      """,
      [queue.user, queue.device, queue.room])
    // Whoever was the next one until now is the first, or has just been pushed to the second place.
    for (place, row) in firstTwo.enumerated() where (row[1] as Bool) != (place == 0) {
      try db.run("UPDATE jobs SET is_next = ? WHERE rowid = ?", [place == 0, row[0] as Int64])
    }
  }

  private static func text(of reasons: [String]) -> String {
    var json = JSONWriter()
    json.array { for reason in reasons { $0.string(reason) } }
    return String(decoding: json.bytes, as: UTF8.self)
  }
}

/// The jobs of one room for one device, which go out in the order of their messages.
private struct JobQueue {
  let user: Int64
  let device: String
  let room: Int64
}
