// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

extension PushQueue {
  /// Applies a decision to a job that is neither finished nor being sent.
  ///
  /// A job cannot become the digest head if it is merged, finished or being sent, belongs to another device, or
  /// notifies anyway. A job cannot be merged if it is already merged, may have reached the phone, or notifies anyway.
  /// - Parameter explanation: The ``Explanation`` as JSON. Is `nil` when it stays unchanged.
  /// - Returns: False if the job has another state now, or cannot be merged. Nothing was changed.
  @discardableResult
  public func decide(_ id: String, _ action: JobDecision.Action, explanation: String? = nil) throws -> Bool {
    guard let job = try storedJob(id), job.isOpen else { return false }
    switch action {
    case .push(let level):
      try db.run("UPDATE jobs SET level = ? WHERE number = ?", [level.rawValue, job.number])
      if job.state == .held { try release(job) }
    case .hold(let until):
      guard !job.isUnknown, !job.isNotifyAnyway else { return false }
      try hold(job, until: until, maxAge: PlannedPush.maxHold)
    case .wait(let until):
      guard job.state == .held else { return false }
      try hold(job, until: until)
    case .cancel(let reason): try cancelJobs("number = ?", [job.number], note: reason.rawValue)
    case .expire:
      try cancelJobs("number = ?", [job.number], note: "expired", as: .expired)
      try transaction.updates.expectEnd(ofCall: id)
    case .miss:
      try cancelJobs("number = ?", [job.number], note: "missed", as: .expired)
      try transaction.updates.putEntry(of: id, due: now)
    case .merge(let head, let level):
      guard let head = try storedJob(head), try transaction.digests.merge(job, into: head) else { return false }
      try db.run("UPDATE jobs SET level = coalesce(?, level) WHERE number = ?", [level?.rawValue, job.number])
    }
    if let explanation {
      try db.run("UPDATE jobs SET explanation = ? WHERE number = ?", [explanation, job.number])
    }
    return true
  }

  /// Makes held jobs due at `time` at the latest.
  /// - Parameter limit: The maximum number of jobs. Is ``Transaction/maxSlice`` if it is `nil`.
  /// - Returns: True if more jobs may be left: then call it again in another work. Never true without a journal.
  @discardableResult
  public func decideHeldAgain(by time: Timestamp, limit: Int? = nil) throws -> Bool {
    guard let limit = limit ?? transaction.maxSlice else {
      try db.run("UPDATE jobs SET due = ?1 WHERE state = 'held' AND due > ?1", [time.rawValue])
      return false
    }
    try db.run(
      """
      UPDATE jobs SET due = ?1 WHERE number IN (SELECT number FROM jobs WHERE state = 'held' AND due > ?1 LIMIT ?2)
      """, [time.rawValue, limit])
    return db.changesCount >= limit
  }

  /// Adjusts due times and leases after the wall clock was set. A waiting push stays due after the same time as before,
  /// and a lease keeps its length. A push that was already due is due now.
  ///
  /// Writes before the first work may already have used the new time. So after a step forward, times that may be new
  /// stay unchanged. No push waits longer than before. A push with a due time beyond `time` is sent sooner.
  ///
  /// The first work finds all times to change. Later works change a time only if no other write has changed it.
  /// - Parameters:
  ///   - time: The new time at which the relay noticed the step.
  ///   - rest: The times that earlier works have left. Is `nil` at first.
  ///   - limit: The maximum number of times. Is ``Transaction/maxSlice`` if it is `nil`.
  /// - Returns: The times for the next work. Is `nil` if no time is left, and always without a journal.
  @discardableResult
  public func moveDue(
    by step: Duration, setTo time: Timestamp, _ rest: DueTimes? = nil, limit: Int? = nil
  ) throws -> DueTimes? {
    let after = step > .zero ? time - step : time
    let before = step > .zero ? time.rawValue : .max
    guard let limit = limit ?? transaction.maxSlice else {
      for clock in JobClock.allCases {
        try db.run(
          """
          UPDATE jobs SET \(clock) = max(\(clock) + ?3, ?4) WHERE \(clock.states) AND \(clock) > ?1 AND \(clock) < ?2
          """, [after.rawValue, before, step.milliseconds, time.rawValue])
      }
      return nil
    }
    var left =
      try rest
      ?? DueTimes(
        JobClock.allCases.flatMap { clock in
          try db.all(
            "SELECT number, \(clock) FROM jobs WHERE \(clock.states) AND \(clock) > ? AND \(clock) < ?",
            [after.rawValue, before]
          ).map { DueTimes.Mark(clock: clock, number: $0[0], time: $0[1]) }
        })
    for mark in left.take(limit) {
      try db.run(
        "UPDATE jobs SET \(mark.clock) = max(?2 + ?3, ?4) WHERE number = ?1 AND \(mark.clock.states) AND \(mark.clock) = ?2",
        [mark.number, mark.time, step.milliseconds, time.rawValue])
    }
    return left.isEmpty ? nil : left
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
      UPDATE jobs SET \(JobEvent.held.assignment), is_next = 0, due = min(?1, coalesce(created - steps + ?2, ?1))
      WHERE number = ?3 AND \(JobEvent.held.condition)
      """,
      [time.rawValue, maxAge.map { ($0 + transaction.steps).milliseconds }, job.number])
    try promote(in: job.queue)
    cache.updates.notify()
  }
}

/// A column of a job with a time of the wall clock.
private enum JobClock: String, CaseIterable, CustomStringConvertible {
  case due, lease

  var description: String { rawValue }

  /// The condition that the column is in use.
  var states: String {
    switch self {
    case .due: "state IN ('ready', 'retrying', 'waiting')"
    case .lease: "state = 'sending'"
    }
  }
}

/// The times of jobs that a step of the wall clock still has to move.
public struct DueTimes: Sendable {
  fileprivate struct Mark: Sendable {
    let clock: JobClock
    let number: Int64
    /// The time by the old clock. Another value is of the new clock.
    let time: Int64
  }

  private var marks: ArraySlice<Mark>

  fileprivate init(_ marks: [Mark]) { self.marks = marks[...] }

  fileprivate var isEmpty: Bool { marks.isEmpty }

  fileprivate mutating func take(_ limit: Int) -> ArraySlice<Mark> {
    defer { marks = marks.dropFirst(limit) }
    return marks.prefix(limit)
  }
}
