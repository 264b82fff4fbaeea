// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Cancels jobs that are not needed any more.
extension PushQueue {
  /// Cancels the user's jobs for messages of the room up to `seq`, including held ones, except those that are being
  /// sent.
  /// - Parameter keepsCalls: True if calls continue to ring: a received mark does not answer a call, but a read mark
  ///   does.
  /// - Returns: The number of cancelled jobs.
  @discardableResult
  public func cancel(
    _ room: RoomID, _ user: UserID, upTo seq: Int64, keepsCalls: Bool = false, reason: String
  ) throws -> Int {
    guard let known = try row(of: room), let id = try row(of: user) else { return 0 }
    let isSpared = """
      AND NOT EXISTS (
        SELECT 1 FROM messages WHERE messages.room = jobs.room AND messages.seq = jobs.seq
          AND push_kind = '\(MessageKind.call.rawValue)')
      """
    return try cancelJobs(
      "user = ? AND room = ? AND seq <= ? \(keepsCalls ? isSpared : "")", [id, known.id, seq], note: reason)
  }

  /// Cancels all jobs of a call that are not sent yet, except those that quiet hours hold.
  func cancelRinging(_ room: Int64, _ seq: Int64) throws {
    try cancelJobs(
      "room = ? AND seq = ? AND state <> '\(JobState.held.rawValue)'", [room, seq], note: "cancelled")
  }

  /// Cancels unfinished jobs, except those that are being sent.
  /// - Parameters:
  ///   - condition: A condition for which an index exists.
  ///   - state: ``FinishedState/expired`` for jobs that are too late.
  @discardableResult
  func cancelJobs(
    _ condition: String, _ arguments: StatementArguments, note: String, as state: FinishedState = .cancelled
  ) throws -> Int {
    try cancel(queued: "\(Schema.queued) AND state <> 'sending'", condition, arguments, note, state)
  }

  /// Cancels unfinished jobs, including those that are being sent: they must not be tried again.
  /// - Parameter condition: A condition for which an index exists.
  func abandonJobs(_ condition: String, _ arguments: StatementArguments, _ obstacle: Obstacle) throws {
    try cancel(queued: Schema.queued, condition, arguments, obstacle.rawValue, .cancelled)
  }

  @discardableResult
  private func cancel(
    queued: String, _ condition: String, _ arguments: StatementArguments, _ note: String,
    _ state: FinishedState
  ) throws -> Int {
    // Two statements, because each uses another index.
    let cancelled = try [Schema.aside, queued].map { states in
      try db.all(
        """
        UPDATE jobs SET \(state.event.assignment), note = ?, finished_at = ?, lease = NULL,
          is_unknown = is_unknown OR state = 'sending'
        WHERE \(states) AND \(condition)
        RETURNING id, digest IS NOT NULL AS is_digest, user, device, room
        """,
        [note, now.rawValue] + arguments)
    }
    for (isHeld, rows) in zip([true, false], cancelled) {
      for row in rows where row["is_digest"] { try transaction.digests.handOver(row["id"], isHeld: isHeld) }
    }
    for queue in Set(cancelled[1].map(JobQueue.init(_:))) { try promote(in: queue) }
    // The worker may wait for the time of a cancelled job, and the next job may be due now.
    if !cancelled[1].isEmpty { cache.updates.notify() }
    return cancelled.reduce(0) { $0 + $1.count }
  }
}
