// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

/// Both clocks at a moment, such as the beginning of a transaction, and what follows from them.
public final class ClockReading: Sendable {
  public let now: Timestamp
  let elapsed: Duration
  let aging: AgingClock

  init(now: Timestamp, elapsed: Duration, aging: AgingClock) {
    self.now = now
    self.elapsed = elapsed
    self.aging = aging
  }

  /// A wall clock that is never set.
  convenience init(now: Timestamp) {
    self.init(now: now, elapsed: .zero, aging: AgingClock(nil, now: now, elapsed: .zero))
  }

  /// The cause of the wait of deletion by age. Is `nil` when data may be deleted by its age.
  public var cause: AgingClock.Cause? { aging.wait?.cause }

  /// The time until the wait ends if nobody sets the clock. Is 0 when nothing waits.
  public var remaining: Duration { aging.remaining(at: elapsed) ?? .zero }

  /// The present time, by the wall clock and by the stepless clock.
  public var moment: Moment { Moment(now: now, steps: aging.storedSteps) }

  /// Returns the time of a job or of its message by the present wall clock.
  /// - Parameter steps: The sum of the steps when the job was stored.
  public func wallTime(_ time: Timestamp, steps: Duration) -> Timestamp { time + shift(since: time, steps: steps) }

  /// True if the wall clock has shown a time within the last `age`, see ``AgingClock``.
  func hasShown(_ time: Timestamp, within age: Duration) -> Bool {
    aging.hasShown(time, within: age, now: now, elapsed: elapsed)
  }

  /// The steps since a job was stored. Without any, its message may still be older than a step before the job, see
  /// ``AgingClock/shift(since:)``.
  func shift(since time: Timestamp, steps: Duration) -> Duration {
    let shift = moment.steps - steps
    return shift == .zero ? aging.shift(since: time) : shift
  }
}

extension Transaction {
  /// The time of the group by the store's wall clock.
  var now: Timestamp { clock.now }

  /// The sum of all steps of the wall clock, see ``AgingClock/totalSteps``.
  var steps: Duration { clock.moment.steps }

  /// The time by the stepless clock, see ``AgingClock/totalSteps``.
  var steplessNow: Timestamp { clock.moment.stepless }

  /// The time of the wall clock for a time by the stepless clock.
  func wallTime(_ stepless: Timestamp) -> Timestamp { stepless + steps }

  /// The time by the clock for keys, see ``AgingClock/keyOffset``. Only the difference of two such times has a meaning.
  var steadyNow: Timestamp { clock.now - clock.aging.keyOffset }

  /// The time before which data is older than `age`. While deletion by age waits, no data is older.
  func time(before age: Duration) -> Timestamp { unlessWaiting(now - age) }

  /// The time before which data is deleted. While deletion by age waits, this is before all data.
  func unlessWaiting(_ bound: Timestamp) -> Timestamp {
    clock.aging.wait == nil ? bound : Timestamp(rawValue: .min)
  }

  /// Stores the state of the clock, so that the next start notices a step in between.
  public func noteClock() throws { try note(clock.aging.record(now: now, elapsed: clock.elapsed)) }

  /// Stores that nothing waits.
  func noteConfirmedClock() throws { try note(AgingClock.Record(noted: now, totalSteps: clock.aging.totalSteps)) }

  private func note(_ record: AgingClock.Record) throws {
    try Installation.save(keyOffset: clock.aging.keyOffset, db)
    try db.run(
      """
      INSERT INTO clock (id, noted, cause, waited, wait_steps, stepped, total_steps)
      VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT DO UPDATE SET noted = ?1, cause = ?2, waited = ?3, wait_steps = ?4, stepped = ?5, total_steps = ?6
      """,
      [
        record.noted.rawValue, record.cause?.rawValue, record.waited.milliseconds, record.waitSteps.milliseconds,
        record.stepped?.rawValue, record.totalSteps.milliseconds,
      ])
  }
}

extension AgingClock.Record {
  /// The stored record. Is `nil` in a new database.
  static func stored(_ db: Database) throws -> Self? {
    try db.first("SELECT noted, cause, waited, wait_steps, stepped, total_steps FROM clock").map { row in
      Self(
        noted: row.timestamp("noted"), cause: (row["cause"] as String?).flatMap(AgingClock.Cause.init),
        waited: .milliseconds(row["waited"] as Int64), waitSteps: .milliseconds(row["wait_steps"] as Int64),
        stepped: row.time("stepped"), totalSteps: .milliseconds(row["total_steps"] as Int64))
    }
  }
}

extension AgingClock {
  /// The clock of a database at its start. The query has each column that ``Transaction/steadyNow`` writes.
  /// - Parameter keyTime: The time at which the clock for keys continues in a cluster, see ``Journal/keyTime``.
  init(stored db: Database, _ clock: StoreClock, keyTime: Timestamp? = nil) throws {
    let newest = try db.first(
      """
      SELECT max(time) AS time FROM (
        SELECT max(expires) - ?1 AS time FROM keys
        UNION ALL SELECT max(expires) - ?1 FROM creations
        UNION ALL SELECT max(time) FROM forgotten
        UNION ALL SELECT max(time) FROM silenced
        UNION ALL SELECT max(notified) FROM silenced WHERE notified IS NOT NULL
        UNION ALL SELECT steady FROM message_reports WHERE id = (SELECT max(id) FROM message_reports))
      """,
      [MessageDraft.keyLifetime.milliseconds])
    self.init(
      try Record.stored(db), keyOffset: try Installation.keyOffset(db), newest: newest?.time("time"), keyTime: keyTime,
      now: clock.now(), elapsed: clock.elapsed())
  }
}
