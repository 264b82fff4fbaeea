// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// What becomes of a job that was decided again.
public enum JobRuling: Equatable, Sendable {
  /// To be pushed, at this level: at once when it was held, else when it would have been.
  case push(level: String)
  /// To be decided again at this time, or when what silences the device ends; at most ``JobDraft/longestHold`` after the
  /// job was made. Not where it may be on the phone, or is to notify anyway.
  case hold(until: Timestamp)
  /// Held on, although nothing silences the device any more: the recipient may yet receive the message. To be decided
  /// again at this time, which the decision bounds.
  case wait(until: Timestamp)
  /// Not to be pushed, with the reason.
  case cancel(String)
  /// Not to be pushed, because its time is over.
  case expire
  /// To be told by the push of this job, which should be that of the newest message; by itself it has this level.
  case merge(into: String, level: String? = nil)
}

extension Transaction {
  /// Applies a ruling to a job that is neither finished nor being sent.
  ///
  /// Into a job that is merged, finished, being sent, of another device or to notify anyway, none is merged; and none is
  /// that is merged already, may be on the phone, or is to notify anyway.
  /// - Parameter explanation: JSON: the decision and its facts; nil: as it was.
  /// - Returns: false when the job has moved on, or cannot be merged so. Nothing was changed.
  @discardableResult
  public func rule(_ id: String, _ ruling: JobRuling, explanation: [UInt8]? = nil) throws -> Bool {
    guard let job = try storedJob(id), job.isOpen else { return false }
    switch ruling {
    case .push(let level):
      try db.run("UPDATE jobs SET level = ? WHERE number = ?", [level, job.number])
      if job.state == .held { try release(job) }
    case .hold(let until):
      guard !job.isUnknown, !job.isNotifyAnyway else { return false }
      try hold(job, until: until, longest: JobDraft.longestHold)
    case .wait(let until):
      guard job.state == .held else { return false }
      try hold(job, until: until)
    case .cancel(let reason): try cancelJobs("number = ?", [job.number], note: reason)
    case .expire: try cancelJobs("number = ?", [job.number], note: "expired", as: .expired)
    case .merge(let head, let level):
      guard let head = try storedJob(head), try merge(job, into: head) else { return false }
      try db.run("UPDATE jobs SET level = coalesce(?, level) WHERE number = ?", [level, job.number])
    }
    if let explanation {
      try db.run(
        "UPDATE jobs SET explanation = ? WHERE number = ?", [String(decoding: explanation, as: UTF8.self), job.number])
    }
    return true
  }

  /// Something has changed that pushes to the user are decided by. Jobs made before are decided again by whoever changed
  /// it, and at the next start, in case that one is killed first; see ``Reader/changedUsers(after:limit:)``.
  public func noteChange(of user: UserID) throws {
    try db.run("UPDATE users SET changed = ? WHERE id = ?", [now.rawValue, needRow(of: user)])
  }

  /// Has all held jobs decided again at `time` at the latest.
  public func decideHeldAgain(by time: Timestamp) throws {
    try db.run("UPDATE jobs SET due = ?1 WHERE state = 'held' AND due > ?1", [time.rawValue])
  }

  /// Moves what waits after the wall clock was set: pushes that wait to be sent, or to be sent again, are due after the
  /// same time as before, and leases last as long. A push that was due already is due now.
  ///
  /// This may run after other writes of the new time, so it leaves all that may be of the new time as it is. Nothing
  /// waits longer than before. After a step forward a push that was due beyond `time` is due sooner.
  /// - Parameter time: The new time at which the relay noticed the step.
  public func moveDue(by step: Duration, setTo time: Timestamp) throws {
    for (table, column, condition) in [
      ("jobs", "due", "state IN ('ready', 'retrying', 'waiting')"), ("jobs", "lease", "state = 'sending'"),
      ("updates", "due", "true"), ("updates", "lease", "lease IS NOT NULL"),
    ] {
      if step > .zero {
        try db.run(
          "UPDATE \(table) SET \(column) = \(column) + ?3 WHERE \(condition) AND \(column) > ?1 AND \(column) < ?2",
          [(time - step).rawValue, time.rawValue, step.milliseconds])
      } else {
        try db.run(
          "UPDATE \(table) SET \(column) = max(\(column) + ?2, ?1) WHERE \(condition) AND \(column) > ?1",
          [time.rawValue, step.milliseconds])
      }
    }
  }

  /// Has the user's held jobs that are due decided again at `time`, because they could not be now.
  public func postponeHeld(of user: UserID, to time: Timestamp) throws {
    guard let id = try row(of: user) else { return }
    try db.run(
      "UPDATE jobs SET due = ? WHERE state = 'held' AND user = ? AND due <= ?", [time.rawValue, id, now.rawValue])
  }

  /// Ends a hold.
  func release(_ job: StoredJob) throws {
    let event = JobEvent.released
    try db.run(
      "UPDATE jobs SET \(event.assignment), due = ? WHERE number = ? AND \(event.condition)",
      [now.rawValue, job.number])
    try promote(in: job.queue)
  }

  /// - Parameter longest: The bound of the hold, from when the job was made.
  private func hold(_ job: StoredJob, until time: Timestamp, longest: Duration? = nil) throws {
    if job.state == .merged { try separate(job, on: .held, due: time) }
    // The other messages of its digest are not held with it.
    if job.isDigest { try split(job) }
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.held.assignment), is_next = 0, due = min(?1, coalesce(created + ?2, ?1))
      WHERE number = ?3 AND \(JobEvent.held.condition)
      """,
      [time.rawValue, longest?.milliseconds, job.number])
    try promote(in: job.queue)
  }
}
