// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// The jobs that update phones: edits, deletions, missed calls, badges and silent pushes. They are jobs of the push
/// queue with another kind. A newer update of the same message and device replaces the older one. An update is deleted
/// after it was sent.
public struct UpdateQueue: TransactionPart {
  let transaction: Transaction

  /// The minimum time between two badge updates of a device.
  public static let badgePause = Duration.seconds(60)
  /// The minimum time between two silent pushes to a device. Source: Apple's "Pushing background updates to your app".
  public static let silentPause = Duration.seconds(20 * 60)
  /// The maximum number of stored deletions for one device, and likewise of all other updates. Beyond it the relay
  /// drops the oldest ones, so that a phone that was offline for long may show an old text. Deletions have their own
  /// limit, so that other updates cannot displace them.
  public static let maxUpdates = 100
  /// The updates that are stored in the transaction of the edit or deletion. All others follow in slices.
  public static let maxUpdatesWithChange = 64
  /// The updates of pending edits and deletions that one transaction stores.
  public static let maxUpdateSlice = 256

  // MARK: Storing updates

  /// Stores updates for the phones that show a message in a push of its own, because the message has changed. If there
  /// are many phones, most updates follow in slices: see ``storePending()``.
  func store(_ room: Int64, _ seq: Int64, _ kind: UpdateKind) throws {
    let change = Change(room: room, seq: seq, kind: kind)
    let stored = try storeUpdates(of: change, after: Position(), limit: Self.maxUpdatesWithChange)
    if let next = stored.next {
      // The row gets a new id at the end of the queue, so that repeated edits of one message do not delay the others.
      try db.run(
        "INSERT OR REPLACE INTO pending_changes (room, seq, kind, user, device) VALUES (?, ?, ?, ?, ?)",
        [room, seq, kind.rawValue, next.user, next.device])
    } else {
      try db.run("DELETE FROM pending_changes WHERE room = ? AND seq = ?", [room, seq])
    }
  }

  /// Stores updates for the phones of one user that show a call, because the user has answered or declined it.
  /// - Parameter device: The device on which the user has done so. It gets no update.
  func store(_ room: Int64, _ seq: Int64, _ kind: UpdateKind, of user: Int64, except device: DeviceID?) throws {
    // The position before the first device of the user. A user has fewer devices than a slice.
    let position = Position(user: user, device: "")
    let shown = try storeUpdates(
      of: Change(room: room, seq: seq, kind: kind), after: position, limit: Self.maxUpdatesWithChange, only: user,
      except: device)
    precondition(shown.next == nil, "a user has more devices than the limit permits")
  }

  /// Stores the next slice of the updates of pending edits and deletions.
  public func storePending() throws {
    var left = Self.maxUpdateSlice
    while left > 0 {
      let pending = try db.first("SELECT room, seq, kind, user, device, id FROM pending_changes ORDER BY id LIMIT 1")
      guard let pending else { return }
      let id: Int64 = pending["id"]
      guard let kind = UpdateKind(rawValue: pending["kind"]) else {
        try db.run("DELETE FROM pending_changes WHERE id = ?", [id])
        continue
      }
      let change = Change(room: pending["room"], seq: pending["seq"], kind: kind)
      let stored = try storeUpdates(
        of: change, after: Position(user: pending["user"], device: pending["device"]),
        limit: left)
      left -= max(1, stored.count)
      if let next = stored.next {
        try db.run("UPDATE pending_changes SET user = ?, device = ? WHERE id = ?", [next.user, next.device, id])
      } else {
        try db.run("DELETE FROM pending_changes WHERE id = ?", [id])
      }
    }
  }

  private struct Change {
    let room, seq: Int64
    let kind: UpdateKind
  }

  /// A position in the order of devices in which updates are stored.
  private struct Position {
    var user: Int64 = 0
    var device = ""
  }

  /// Stores the updates of the next devices.
  /// - Parameters:
  ///   - user: The user whose devices get updates. Is `nil` for all users.
  ///   - excluded: A device of this user that gets no update.
  /// - Returns: The number of updates, and the last device if others may follow.
  private func storeUpdates(
    of change: Change, after position: Position, limit: Int, only user: Int64? = nil, except excluded: DeviceID? = nil
  ) throws -> (count: Int, next: Position?) {
    let shown = try db.all(
      """
      SELECT jobs.id, jobs.user, jobs.device, max(jobs.round), devices.platform, devices.app, devices.token,
        devices.environment
      FROM jobs INDEXED BY jobs_of_message
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq
      JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device
      WHERE jobs.kind = 'push' AND jobs.room = ?1 AND jobs.seq = ?2 AND jobs.state IN ('sent', 'sending')
        AND jobs.merged_into IS NULL
        AND jobs.digest IS NULL AND coalesce(messages.push_collapse, '') <> '\(CollapseScope.room.rawValue)'
        AND (jobs.user, jobs.device) > (?3, ?4) AND (?6 IS NULL OR jobs.user = ?6)
      GROUP BY jobs.user, jobs.device ORDER BY jobs.user, jobs.device LIMIT ?5
      """,
      [change.room, change.seq, position.user, position.device, limit, user])
    for row in shown where row["device"] != excluded?.rawValue {
      try put(
        change.kind, job: row["id"], user: row["user"], device: row["device"], room: change.room, seq: change.seq,
        due: now,
        service: Service(row))
    }
    guard shown.count == limit, let last = shown.last else { return (shown.count, nil) }
    return (shown.count, Position(user: last["user"], device: last["device"]))
  }

  /// Stores the update that changes a shown call to a missed call when its time is over.
  func expectMiss(of job: String) throws {
    let call = try db.first(
      """
      SELECT jobs.user, jobs.device, jobs.room, jobs.seq, jobs.expires FROM jobs
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq AND NOT messages.is_deleted
        AND messages.push_kind = '\(MessageKind.call.rawValue)'
      JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device AND devices.voip_token IS NULL
      WHERE jobs.id = ? AND jobs.expires IS NOT NULL AND jobs.digest IS NULL
      """,
      [job])
    guard let call else { return }
    try put(
      .missed, job: job, user: call["user"], device: call["device"], room: call["room"], seq: call["seq"],
      due: call.timestamp("expires"))
  }

  /// Stores the missed call of a job that quiet hours have held until the call rang no more.
  func reportMiss(of job: String) throws {
    let call = try db.first("SELECT user, device, room, seq FROM jobs WHERE id = ?", [job])
    guard let call else { return }
    try put(
      .missed, job: job, user: call["user"], device: call["device"], room: call["room"], seq: call["seq"], due: now)
  }

  /// Stores badge updates for phones that show messages which the user has now read on another device. Call this before
  /// the read mark is raised.
  /// - Returns: True if such phones exist.
  @discardableResult
  public func storeBadges(of user: UserID, reading room: RoomID, upTo seq: Int64) throws -> Bool {
    guard let known = try row(of: room), let id = try row(of: user) else { return false }
    let devices = try db.all(
      """
      SELECT devices.device, devices.badged FROM devices
      JOIN members ON members.room = ?2 AND members.user = devices.user
      WHERE devices.user = ?1 AND devices.allows_alerts AND devices.platform IN ('apns', 'simulator') AND EXISTS (
        SELECT 1 FROM jobs WHERE jobs.user = devices.user AND jobs.device = devices.device AND jobs.room = ?2
          AND jobs.seq > members.read AND jobs.seq <= ?3 AND jobs.state IN ('sent', 'merged')
          AND jobs.finished_at IS NOT NULL)
      """,
      [id, known.id, seq])
    for row in devices {
      // If `badged` is after `now`, the wall clock was set back.
      let due = max(now, row.time("badged").map { min($0, now) + Self.badgePause } ?? now)
      try put(.badge, job: nil, user: id, device: row["device"], room: 0, seq: 0, due: due)
    }
    return !devices.isEmpty
  }

  /// Stores a push that wakes an app. It replaces an earlier one that was not sent yet.
  func insertSilent(_ queue: JobQueue, seq: Int64) throws {
    let device = try db.first(
      "SELECT woken FROM devices WHERE user = ? AND device = ?", [queue.user, queue.device])
    guard let device else { return }
    let due = max(now, device.time("woken").map { min($0, now) + Self.silentPause } ?? now)
    let replaced = try db.all(
      """
      DELETE FROM jobs WHERE \(Schema.updates) AND user = ? AND device = ? AND kind = 'silent' AND state <> 'sending'
      RETURNING due
      """,
      [queue.user, queue.device])
    // The due time of the replaced push stays, so that a series of silent pushes does not delay them for ever.
    let first = replaced.compactMap { $0.time("due") }.min() ?? due
    try put(
      .silent, job: nil, user: queue.user, device: queue.device, room: queue.room, seq: seq, due: min(due, first))
  }

  private func put(
    _ kind: UpdateKind, job: String?, user: Int64, device: String, room: Int64, seq: Int64, due: Timestamp,
    service known: Service? = nil
  ) throws {
    guard let service = try known ?? service(of: device, ofRow: user) else { return }
    // An update that is being sent is sent again. Only the end of a call or its deletion replaces the end of a call. A
    // call that the user has answered or declined is not missed.
    try db.run(
      """
      INSERT INTO jobs
        (id, target, user, device, kind, room, seq, due, platform, token, lane, created, round, state, is_next,
          is_notify_anyway, reasons)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \(Self.round), '\(JobState.ready.rawValue)', 1, 0, '[]')
      ON CONFLICT (user, device, room, seq, round) DO UPDATE SET kind = excluded.kind, target = excluded.target,
        due = min(due, excluded.due), is_again = state = 'sending', created = excluded.created, attempts = 0
      WHERE (jobs.kind NOT IN ('missed', 'answered', 'declined')
          OR excluded.kind IN ('missed', 'answered', 'declined', 'deleted'))
        AND NOT (jobs.kind IN ('answered', 'declined') AND excluded.kind = 'missed')
      """,
      [
        UUID().uuidString.lowercased(), job, user, device, kind.rawValue, room, seq, due.rawValue, service.platform,
        service.token, service.lane.name, max(now, due).rawValue,
      ])
    try boundUpdates(of: device, ofRow: user, areDeletions: kind == .deleted)
  }

  /// The round of all updates, so that a device has one for each message.
  private static let round = 2

  /// The push service of a device.
  private struct Service {
    let platform, token: String
    let lane: Lane

    /// - Parameter row: Has the columns `platform`, `app`, `token` and `environment`.
    init(_ row: Row) {
      platform = row["platform"]
      token = row["token"]
      lane = Lane(platform, app: row["app"], token: token, environment: row["environment"]).forUpdates
    }
  }

  private func service(of device: String, ofRow user: Int64) throws -> Service? {
    try db.first("SELECT platform, app, token, environment FROM devices WHERE user = ? AND device = ?", [user, device])
      .map(Service.init)
  }

  private func boundUpdates(of device: String, ofRow user: Int64, areDeletions: Bool) throws {
    let condition = "\(Schema.updates) AND user = ? AND device = ? AND kind \(areDeletions ? "=" : "<>") 'deleted'"
    let count: Int =
      try db.first("SELECT count(*) FROM jobs WHERE \(condition)", [user, device])?[0] ?? 0
    guard count > Self.maxUpdates else { return }
    try db.run(
      """
      DELETE FROM jobs WHERE number IN (
        SELECT number FROM jobs WHERE \(condition) AND state <> 'sending' ORDER BY created, number LIMIT ?)
      """,
      [user, device, count - Self.maxUpdates])
  }

  // MARK: Sending updates

  /// Claims due updates that are still needed, see ``PushQueue/claimDue(limit:now:leaseUntil:capacity:)``.
  /// - Parameter capacity: The maximum for each lane that has a lower one than `limit`.
  func claim(
    limit: Int, now: Timestamp, leaseUntil: Timestamp, capacity: [Lane: Int] = [:]
  ) throws -> [UpdateClaim] {
    let lanes = try reader.queue.lanes().filter(\.isForUpdates)
    let due = try transaction.queue.dueJobs(in: lanes, limit, now: now, capacity)
    guard !due.isEmpty else { return [] }
    var shared = Shared(db: db, now: now)
    var claims: [UpdateClaim] = []
    for job in due {
      guard let update = try update(job.number) else { continue }
      if let job = update.job, try db.has("SELECT 1 FROM jobs WHERE id = ? AND state = 'sending'", [job]) {
        // The update must follow the push that it changes.
        try db.run("UPDATE jobs SET due = ? WHERE number = ?", [(now + .seconds(1)).rawValue, update.number])
        continue
      }
      guard let device = update.device, let content = try content(of: update, on: device, &shared) else {
        try db.run("DELETE FROM jobs WHERE number = ?", [update.number])
        continue
      }
      try db.run(
        """
        UPDATE jobs SET \(JobEvent.claimed.assignment), lease = ?, attempts = attempts + 1, is_again = 0
        WHERE number = ? AND \(JobEvent.claimed.condition)
        """,
        [leaseUntil.rawValue, update.number])
      try noteTime(of: content, user: update.user, device: device, now: now)
      claims.append(
        UpdateClaim(
          id: update.id, attempts: update.attempts + 1, created: update.created, content: content, device: device))
    }
    return claims
  }

  private func update(_ number: Int64) throws -> DueUpdate? {
    try db.first(
      """
      SELECT jobs.number, jobs.id, jobs.target, jobs.user, jobs.kind, jobs.room, jobs.seq, jobs.attempts, jobs.created,
        \(Device.columns)
      FROM jobs LEFT JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device
      WHERE jobs.number = ?
      """,
      [number], DueUpdate.init(_:))
  }

  private func noteTime(of content: UpdateClaim.Content, user: Int64, device: Device, now: Timestamp) throws {
    let column: String? =
      switch content {
      case .badge: "badged"
      case .silent: "woken"
      case .change: nil
      }
    guard let column else { return }
    try db.run(
      "UPDATE devices SET \(column) = ? WHERE user = ? AND device = ?", [now.rawValue, user, device.id.rawValue])
  }

  /// Returns `nil` if the update is not needed any more.
  private func content(
    of update: DueUpdate, on device: Device, _ shared: inout Shared
  ) throws -> UpdateClaim.Content? {
    switch update.kind {
    case .badge: return .badge(try shared.badge(of: update.user, on: device))
    case .silent:
      return try db.first(
        """
        SELECT rooms.name, rooms.epoch, \(StoredMessage.columns), \(PushRequest.columns) FROM messages
        JOIN rooms ON rooms.id = messages.room AND NOT (\(Schema.isDeleted("rooms.name")))
        JOIN users AS sender ON sender.id = messages.sender
        LEFT JOIN members ON members.room = messages.room AND members.user = ?3 AND NOT members.is_withdrawn
        WHERE messages.room = ?1 AND messages.seq = ?2 AND NOT messages.is_deleted
          AND coalesce(members.read < messages.seq, \(Schema.isNotifications("rooms.name")))
        """,
        [update.room, update.seq, update.user]
      ) { .silent(RoomID(unchecked: $0["name"]), epoch: $0["epoch"], try StoredMessage($0), try PushRequest($0)) }
    case .edited, .deleted, .missed, .answered, .declined:
      if update.kind == .missed,
        try transaction.responses.isAnswered(update.room, update.seq, by: update.user)
          || db.has(
            "SELECT 1 FROM call_parties WHERE room = ? AND seq = ? AND user = ?",
            [update.room, update.seq, update.user])
      {
        return nil
      }
      // A device with a VoIP token shows a call screen and no alert.
      if update.kind == .answered || update.kind == .declined, device.voipToken != nil { return nil }
      guard let job = update.job,
        try db.has(
          """
          SELECT 1 FROM jobs WHERE id = ?
            AND (state = 'sent' OR state = 'expired' AND note = '\(PushQueue.missedNote)')
          """,
          [job])
      else {
        return nil
      }
      return try transaction.queue.change(of: job, isDeleted: update.kind == .deleted, &shared).map {
        .change(update.kind, $0)
      }
    }
  }

  /// Ends an update. If another change was made meanwhile, the update is sent again.
  public func finish(_ id: String) throws {
    try db.run("DELETE FROM jobs WHERE id = ? AND \(Schema.updates) AND NOT is_again", [id])
    guard db.changesCount == 0 else { return }
    let event = JobEvent.repeated
    try db.run(
      "UPDATE jobs SET \(event.assignment), lease = NULL, is_again = 0 WHERE id = ? AND \(event.condition)", [id])
  }

  /// Makes an update due again later.
  /// - Parameter wasTried: False if the gateway did not try, so that the attempt does not count.
  public func retry(_ id: String, due: Timestamp, wasTried: Bool = true) throws {
    try db.run(
      """
      UPDATE jobs SET \(JobEvent.retried.assignment), lease = NULL, is_again = 0, due = ?,
        attempts = max(0, attempts - ?)
      WHERE id = ? AND \(JobEvent.retried.condition)
      """,
      [due.rawValue, wasTried ? 0 : 1, id])
  }
}

private struct DueUpdate {
  let number: Int64
  let id: String
  /// The job whose push it changes.
  let job: String?
  let user: Int64
  let kind: UpdateKind
  let room, seq: Int64
  let attempts: Int
  let created: Timestamp
  /// The device as it is registered now. Is `nil` when it is not registered.
  let device: Device?

  init(_ row: Row) throws {
    number = row["number"]
    id = row["id"]
    job = row["target"]
    user = row["user"]
    kind = try row.choice("kind")
    room = row["room"]
    seq = row["seq"]
    attempts = row["attempts"]
    created = row.timestamp("created")
    device = try Device(ifAny: row)
  }
}
