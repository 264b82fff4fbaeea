// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

extension PushQueue {
  /// Stores jobs for a message.
  ///
  /// If a job for the same message and device exists, in any state, it stays: after a crash the relay may decide a
  /// message again, and must not push it twice. A job is cancelled at once if its device is not registered any more, or
  /// if its recipient has left the room.
  ///
  /// A Notify Anyway replaces a job that was not sent yet. If the first push was sent, the Notify Anyway is a second
  /// push, which replaces the first one on the phone. There is never a third push.
  /// - Returns: The ids of the new jobs that will be sent. Throws ``StoreError/noRoom(_:)``.
  @discardableResult
  public func insert(_ pushes: [PlannedPush], room: RoomID, seq: Int64) throws -> [String] {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    return try insert(pushes, known, seq: seq, now: now)
  }

  func insert(_ pushes: [PlannedPush], _ room: WriterCache.Room, seq: Int64, now: Timestamp) throws -> [String] {
    try pushes.compactMap { push in
      let queue = try JobQueue(user: needRow(of: push.user), device: push.device.id.rawValue, room: room.id)
      // A push that shows nothing is an update instead of a job.
      if push.isBadgeOnly {
        try transaction.updates.countMessage(queue)
        return nil
      }
      if push.message.isSilent == true {
        try transaction.updates.insertSilent(queue, seq: seq)
        return nil
      }
      guard push.message.isNotifyAnyway else { return try insert(push, queue, seq: seq, now: now) }
      return try transaction.silenced.insert(push, queue, seq: seq, now: now)
    }
  }

  /// - Parameters:
  ///   - round: 1 for a second push of the message.
  ///   - collapse: The message whose push this one replaces. Is `nil` for its own message.
  func insert(
    _ push: PlannedPush, _ queue: JobQueue, seq: Int64, round: Int = 0, collapse: (room: Int64, seq: Int64)? = nil,
    now: Timestamp
  ) throws -> String? {
    let place = try place(of: queue)
    let obstacle = try obstacle(at: place, queue.room, holding: push.isHeld ? seq : nil)
    let state: JobState = obstacle != nil ? .cancelled : push.isHeld ? .held : push.due > now ? .waiting : .ready
    let due = push.isHeld ? min(push.due, now + PlannedPush.maxHold) : push.due
    let id = TimeOrderedID.text(at: now)
    try db.run(
      """
      INSERT INTO jobs
        (id, room, seq, user, device, platform, token, state, is_next, due, created, reasons, finished_at, note, round,
          is_notify_anyway, level, explanation, collapse_room, collapse_seq, expires, lane, steps)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (user, device, room, seq, round) DO NOTHING
      """,
      [
        id, queue.room, seq, queue.user, queue.device, push.device.platform.rawValue, push.device.token, state.rawValue,
        state == .ready && place?.hasQueued == false, due.rawValue, now.rawValue,
        StoredJSON.text(of: push.explanation.decision.reasons.map(\.code)),
        obstacle == nil ? nil : now.rawValue, obstacle?.rawValue, round, push.message.isNotifyAnyway,
        push.level?.rawValue,
        StoredJSON.text(of: push.explanation), collapse?.room, collapse?.seq, push.message.expires.rawValue,
        place?.lane.name ?? "", transaction.steps.milliseconds,
      ])
    guard obstacle == nil, !push.isHeld, db.changesCount == 1 else { return nil }
    // A queued job of the queue may be the one of a later message.
    if state == .ready, place?.hasQueued == true { try promote(in: queue) }
    return id
  }

  /// The facts about a queue that a new job depends on.
  private struct Place {
    let lane: Lane
    let isRecipient: Bool
    /// True if a job of the queue is queued.
    let hasQueued: Bool
  }

  private static let place = """
    SELECT platform, app, token, environment,
      EXISTS (SELECT 1 FROM members WHERE room = ?1 AND user = ?2)
        OR EXISTS (SELECT 1 FROM rooms WHERE id = ?1 AND \(Schema.isNotifications("name"))) AS is_recipient,
      EXISTS (
        SELECT 1 FROM jobs INDEXED BY jobs_member
        WHERE \(Schema.queued) AND user = ?2 AND room = ?1 AND device = ?3) AS has_queued
    FROM devices WHERE user = ?2 AND device = ?3
    """

  /// Is `nil` when the device is not registered.
  private func place(of queue: JobQueue) throws -> Place? {
    try db.first(Self.place, [queue.room, queue.user, queue.device]) { row in
      Place(lane: Service(row).lane, isRecipient: row["is_recipient"], hasQueued: row["has_queued"])
    }
  }

  /// The reason to cancel a new job, because a fact changed between the decision and its transaction. Is `nil` without
  /// one.
  /// - Parameter seq: The message of a held job, which a new decision needs.
  private func obstacle(at place: Place?, _ room: Int64, holding seq: Int64?) throws -> Obstacle? {
    guard let place else { return .noDevice }
    guard place.isRecipient else { return .notMember }
    guard let seq else { return nil }
    return try db.has("SELECT 1 FROM messages WHERE room = ? AND seq = ?", [room, seq]) ? nil : .noMessage
  }

  /// Ends a job. A job that was cancelled while it was being sent can still become `sent`, because the gateway may have
  /// accepted it.
  ///
  /// The jobs that are merged into it end with it. If it is cancelled or expires, the others are sent without its
  /// message.
  /// - Parameters:
  ///   - attempts: The last attempts, which are added to the log of the job, even if it cannot end.
  ///   - isUnknown: True if the push may have reached the phone.
  ///   - rings: True if the push was a call screen, which shows no alert and no badge.
  ///   - othersDue: The due time of the jobs that were merged into it. Is `nil` for its own due time.
  /// - Returns: False if the job does not exist, or cannot end in this state.
  @discardableResult
  public func finish(
    _ id: String, state: FinishedState, note: String? = nil, attempts: [PushAttempt] = [], isUnknown: Bool = false,
    rings: Bool = false, othersDue: Timestamp? = nil, now: Timestamp
  ) throws -> Bool {
    let log = attempts.isEmpty ? nil : Self.log(attempts)
    let values: StatementArguments = [note, now.rawValue, id, isUnknown, othersDue?.rawValue, log]
    var row = try db.first(Self.ends[state]!, values)
    // The gateway has accepted a push that was cancelled while it was being sent.
    let isLate = row == nil && state == .sent
    if isLate { row = try db.first(Self.lateEnd, values) }
    guard let row else {
      try self.note(attempts, of: id)
      return false
    }
    if log != nil, row["has_earlier"] { try self.note(attempts, of: id) }
    if row["is_digest"] {
      switch state {
      case .sent, .dead: try transaction.digests.finishMerged(into: id, now: now)
      case .cancelled, .expired: try transaction.digests.handOver(id, isHeld: false)
      }
    }
    try transaction.updates.arrived(at: row["device"], ofRow: row["user"])
    if state == .sent, !rings { try transaction.updates.alerted(id) }
    if isLate { try transaction.updates.arrivedLate(id) }
    if row["is_call"], state == .sent || state == .expired { try transaction.updates.expectEnd(ofCall: id) }
    try promote(in: JobQueue(row))
    return true
  }

  /// The updates of ``finish(_:state:note:attempts:isUnknown:rings:othersDue:now:)``, by the state of an unfinished job.
  private static let ends = Dictionary(
    uniqueKeysWithValues: FinishedState.allCases.map { state in
      (state, end(state, "\(state.event.condition) AND \(Schema.unfinished)"))
    })
  private static let lateEnd = end(.sent, "state = 'cancelled' AND attempts > 0")

  private static func end(_ state: FinishedState, _ condition: String) -> String {
    """
    UPDATE jobs SET \(state.event.assignment), note = ?1, finished_at = ?2, lease = NULL,
      is_unknown = is_unknown OR ?4, due = coalesce(?5, due), is_late = is_late OR ?5 IS NOT NULL,
      attempt_log = coalesce(attempt_log, ?6)
    WHERE id = ?3 AND \(condition)
    RETURNING user, device, room, digest IS NOT NULL AS is_digest, attempt_log <> ?6 AS has_earlier,
      EXISTS (
        SELECT 1 FROM messages
        WHERE room = jobs.room AND seq = jobs.seq AND push_kind = '\(MessageKind.call.rawValue)') AS is_call
    """
  }

  /// True if another push waits for this one: the device gets one at a time.
  public func hasNext(after claim: Claim) throws -> Bool {
    guard let user = try row(of: claim.recipient) else { return false }
    return try db.has(
      "SELECT 1 FROM jobs INDEXED BY jobs_member WHERE \(Schema.queued) AND user = ? AND device = ?",
      [user, claim.device.id.rawValue])
  }

  /// Replaces the note about the end of a job.
  public func amend(_ id: String, note: String) throws {
    try db.run("UPDATE jobs SET note = ? WHERE id = ?", [note, id])
  }

  /// Appends attempts to the log of a job in any state. The log keeps the newest.
  public func note(_ attempts: [PushAttempt], of id: String) throws {
    guard !attempts.isEmpty else { return }
    // Most jobs have one attempt, so that the log is empty.
    try db.run("UPDATE jobs SET attempt_log = ? WHERE id = ? AND attempt_log IS NULL", [Self.log(attempts), id])
    guard db.changesCount == 0, let row = try db.first("SELECT attempt_log FROM jobs WHERE id = ?", [id]) else {
      return
    }
    let known: [PushAttempt] = try row.json("attempt_log", "a job's attempts") ?? []
    try db.run("UPDATE jobs SET attempt_log = ? WHERE id = ?", [Self.log(known + attempts), id])
  }

  private static func log(_ attempts: [PushAttempt]) -> String {
    StoredJSON.text(of: Array(attempts.suffix(JobRecord.maxAttempts)))
  }

  /// Records the first report of a device that a push has arrived.
  /// - Returns: The time of the first report, true if this is the first one, and the owner of the device. Is `nil` when
  ///   the job does not exist.
  public func received(_ id: String, now: Timestamp) throws -> (time: Timestamp, isFirst: Bool, user: UserID)? {
    let row = try db.first(
      "SELECT received, device, users.name AS user FROM jobs JOIN users ON users.id = jobs.user WHERE jobs.id = ? AND kind = 'push'",
      [id])
    guard let row else { return nil }
    let user = UserID(unchecked: row["user"])
    try transaction.updates.alive(DeviceID(unchecked: row["device"]), of: user)
    if let known = row.time("received") { return (known, false, user) }
    try db.run("UPDATE jobs SET received = ? WHERE id = ?", [now.rawValue, id])
    return (now, true, user)
  }

  /// Makes a claimed job due again at `due`. Later jobs of its room and device do not overtake it.
  ///
  /// Cancels the job if its message was read or deleted meanwhile, or if it is a call that rings no more.
  /// - Parameters:
  ///   - wasTried: False if the gateway did not get the push. In this case the claim does not count as an attempt.
  ///   - isUnknown: True if the push may have reached the phone. In this case the job is not merged with others.
  /// - Returns: False if the job is not claimed any more, or was cancelled.
  @discardableResult
  public func retry(
    _ id: String, due: Timestamp, note: String? = nil, wasTried: Bool = true, isUnknown: Bool = false
  ) throws -> Bool {
    let claimed = try db.first(
      """
      SELECT job.user, job.device, messages.is_deleted, members.read >= job.seq AS is_read, \(ResponseReader.isAnsweredCall) AS is_answered,
        \(CallReader.ringsNoMore) AS rings_no_more
      FROM jobs AS job
      LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      LEFT JOIN members ON members.room = job.room AND members.user = job.user
      WHERE job.id = ? AND job.state = 'sending'
      """,
      [id])
    guard let claimed else { return false }
    let obstacles: [(obstacle: Obstacle, holds: Bool?)] = [
      (.deleted, claimed["is_deleted"]), (.read, claimed["is_read"]), (.answered, claimed["is_answered"]),
      (.ringsNoMore, claimed["rings_no_more"]),
    ]
    if let end = obstacles.first(where: { $0.holds == true })?.obstacle {
      try finish(id, state: .cancelled, note: end.rawValue, isUnknown: isUnknown, now: now)
      if isUnknown { try transaction.updates.arrivedLate(id) }
      return false
    }
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.retried.assignment), due = ?, note = ?, lease = NULL, attempts = attempts - ?,
        is_late = 1, is_unknown = is_unknown OR ?
      WHERE id = ? AND \(JobEvent.retried.condition)
      """,
      [due.rawValue, note, wasTried ? 0 : 1, isUnknown, id])
    try transaction.updates.arrived(at: claimed["device"], ofRow: claimed["user"])
    return true
  }

  /// The maximum number of jobs that become due in one transaction.
  public static let maxRetriedNow = 128
  /// The maximum number of jobs of a lane that are searched for those.
  private static let maxSearched = 1_000

  /// Makes jobs of a lane and of its updates due now that wait for another attempt, and whose last one did not reach the
  /// service. A push that may have reached the phone waits on.
  /// - Parameters:
  ///   - reasons: The notes of such jobs.
  ///   - limit: The maximum number of jobs, and of updates; at most ``maxRetriedNow``.
  /// - Returns: True if more jobs may wait. The caller then calls it again, in another transaction.
  public func retryNow(_ lane: Lane, after reasons: [String], limit: Int = maxRetriedNow) throws -> Bool {
    var hasMore = false
    for lane in [lane, lane.forUpdates] {
      try db.run(Self.retryNow, [now.rawValue, lane.name, StoredJSON.text(of: reasons), limit])
      hasMore = hasMore || db.changesCount == limit
    }
    return hasMore
  }

  private static let retryNow = """
    UPDATE jobs SET due = ?1 WHERE number IN (
      SELECT number FROM (
        SELECT number, state, note, is_unknown FROM jobs INDEXED BY jobs_due
        WHERE \(Schema.open) AND is_next AND lane = ?2 AND due > ?1 ORDER BY due LIMIT \(maxSearched)) AS job
      WHERE state = 'retrying' AND NOT is_unknown AND note IN (SELECT value FROM json_each(?3)) LIMIT ?4)
    """

  /// Ends all leases. Called at the start, because the process that had claimed the jobs has ended.
  public func releaseLeases() throws {
    try db.run(Self.leaseEnd)
  }

  /// Deletes jobs that finished before `bound`, at most ``Transaction/maxPurged`` of them, unless deletion by age waits.
  /// - Returns: The number of deleted jobs; if it is ``Transaction/maxPurged``, there may be more.
  @discardableResult
  public func purge(finishedBefore bound: Timestamp) throws -> Int {
    try db.run(
      """
      DELETE FROM jobs WHERE id IN
        (SELECT id FROM jobs WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?)
      """,
      [transaction.unlessWaiting(bound).rawValue, Transaction.maxPurged])
    return db.changesCount
  }
}
