// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The new decision about a job.
public enum JobOutcome: Equatable, Sendable {
  /// The job is pushed at this level: at once if it was held, otherwise at its due time.
  case push(level: Level)
  /// The job is held, and decided again at this time or when nothing silences the device any more. The maximum is
  /// ``JobDraft/maxHold`` after the creation of the job. Not possible if the push may have reached the phone, or if
  /// it notifies anyway.
  case hold(until: Timestamp)
  /// The job stays held although nothing silences the device any more, because the recipient may still receive the
  /// message. It is decided again at this time. The decision limits the wait.
  case wait(until: Timestamp)
  /// The job is not pushed, for this reason.
  case cancel(String)
  /// The job is not pushed, because it has expired.
  case expire
  /// The message becomes part of this job's push. The job should be that of the newest message. The level is that of
  /// the message alone.
  case merge(into: String, level: Level? = nil)
}

extension PushQueue {
  /// Applies a decision to a job that is neither finished nor being sent.
  ///
  /// A job cannot become the digest head if it is merged, finished or being sent, belongs to another device, or
  /// notifies anyway. A job cannot be merged if it is already merged, may have reached the phone, or notifies anyway.
  /// - Parameter explanation: The decision and its facts as JSON. Is `nil` when they stay unchanged.
  /// - Returns: False if the job has another state now, or cannot be merged. Nothing was changed.
  @discardableResult
  public func decide(_ id: String, _ outcome: JobOutcome, explanation: [UInt8]? = nil) throws -> Bool {
    guard let job = try storedJob(id), job.isOpen else { return false }
    switch outcome {
    case .push(let level):
      try db.run("UPDATE jobs SET level = ? WHERE number = ?", [level.rawValue, job.number])
      if job.state == .held { try release(job) }
    case .hold(let until):
      guard !job.isUnknown, !job.isNotifyAnyway else { return false }
      try hold(job, until: until, maxAge: JobDraft.maxHold)
    case .wait(let until):
      guard job.state == .held else { return false }
      try hold(job, until: until)
    case .cancel(let reason): try cancelJobs("number = ?", [job.number], note: reason)
    case .expire: try cancelJobs("number = ?", [job.number], note: "expired", as: .expired)
    case .merge(let head, let level):
      guard let head = try storedJob(head), try transaction.digests.merge(job, into: head) else { return false }
      try db.run("UPDATE jobs SET level = coalesce(?, level) WHERE number = ?", [level?.rawValue, job.number])
    }
    if let explanation {
      try db.run(
        "UPDATE jobs SET explanation = ? WHERE number = ?", [String(decoding: explanation, as: UTF8.self), job.number])
    }
    return true
  }

  /// Makes all held jobs due at `time` at the latest.
  public func decideHeldAgain(by time: Timestamp) throws {
    try db.run("UPDATE jobs SET due = ?1 WHERE state = 'held' AND due > ?1", [time.rawValue])
  }

  /// Adjusts due times and leases after the wall clock was set. A waiting push stays due after the same time as before,
  /// and a lease keeps its length. A push that was already due is due now.
  ///
  /// Other writes may already have used the new time, so times that may be new stay unchanged. No push waits longer
  /// than before. After a step forward, a push with a due time beyond `time` is sent sooner.
  /// - Parameter time: The new time at which the relay noticed the step.
  public func moveDue(by step: Duration, setTo time: Timestamp) throws {
    for (column, condition) in [
      ("due", "state IN ('ready', 'retrying', 'waiting')"), ("lease", "state = 'sending'"),
    ] {
      if step > .zero {
        try db.run(
          "UPDATE jobs SET \(column) = \(column) + ?3 WHERE \(condition) AND \(column) > ?1 AND \(column) < ?2",
          [(time - step).rawValue, time.rawValue, step.milliseconds])
      } else {
        try db.run(
          "UPDATE jobs SET \(column) = max(\(column) + ?2, ?1) WHERE \(condition) AND \(column) > ?1",
          [time.rawValue, step.milliseconds])
      }
    }
  }

  /// Postpones the user's due held jobs to `time`, because they cannot be decided now.
  public func postponeHeld(of user: UserID, to time: Timestamp) throws {
    guard let id = try row(of: user) else { return }
    try db.run(
      "UPDATE jobs SET due = ? WHERE state = 'held' AND user = ? AND due <= ?", [time.rawValue, id, now.rawValue])
  }

  /// Ends the hold of a job.
  func release(_ job: StoredJob) throws {
    let event = JobEvent.released
    try db.run(
      "UPDATE jobs SET \(event.assignment), due = ? WHERE number = ? AND \(event.condition)",
      [now.rawValue, job.number])
    try promote(in: job.queue)
  }

  /// - Parameter maxAge: The maximum duration of the hold, from the creation of the job.
  private func hold(_ job: StoredJob, until time: Timestamp, maxAge: Duration? = nil) throws {
    if job.state == .merged { try transaction.digests.separate(job, on: .held, due: time) }
    // The other messages of its digest are not held.
    if job.isDigest { try transaction.digests.split(job) }
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.held.assignment), is_next = 0, due = min(?1, coalesce(created + ?2, ?1))
      WHERE number = ?3 AND \(JobEvent.held.condition)
      """,
      [time.rawValue, maxAge?.milliseconds, job.number])
    try promote(in: job.queue)
  }
}
