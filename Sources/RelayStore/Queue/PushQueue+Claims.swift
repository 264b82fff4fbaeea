// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

extension PushQueue {
  /// Claims due jobs: first pushes of messages, and then updates. The jobs with the earliest due time are first. The
  /// caller must finish each job before `leaseUntil`.
  /// - Parameters:
  ///   - limit: The maximum number of pushes, and of updates.
  ///   - apps: The entitlements of the apps.
  ///   - zones: The time zones of quiet hours.
  ///   - capacity: The maximum for each lane that has a lower one than `limit`. The updates of a lane share the
  ///     capacity of its pushes.
  public func claimDue(
    limit: Int, now: Timestamp, leaseUntil: Timestamp, apps: AppEntitlements = AppEntitlements(),
    zones: TimeZones = TimeZones(), capacity: [Lane: Int] = [:]
  ) throws -> [Claim] {
    let pushes = try claim(limit: limit, now: now, leaseUntil: leaseUntil, capacity: capacity)
    var left = capacity
    for lane in pushes.lazy.map(\.lane) {
      if let all = left[lane] { left[lane] = max(0, all - 1) }
    }
    for (lane, updates) in left where lane.isForUpdates { left[lane] = min(updates, left[lane.forPushes] ?? updates) }
    let updates = try transaction.updates.claim(
      limit: limit, now: now, leaseUntil: leaseUntil, apps: apps, zones: zones, capacity: left)
    return pushes + updates
  }

  /// Claims due pushes of messages.
  ///
  /// A device has at most one claimed job, and the messages of a room reach it in their order. Messages that could not
  /// be sent at once become one push. When the lease of a claim ends, the job can be claimed again, with the same id. A
  /// job is cancelled here if its device or message is gone, if the message was deleted or read, or if its call rings no
  /// more. A job becomes a dead letter if its rows cannot be read.
  /// - Parameter capacity: The maximum for each lane that has a lower one than `limit`.
  func claim(
    limit: Int, now: Timestamp, leaseUntil: Timestamp, capacity: [Lane: Int] = [:]
  ) throws -> [Claim] {
    try db.run(Self.leaseEndByTime, [now.rawValue])
    try transaction.digests.endWaits(now: now)
    var shared = Shared(transaction, now: now)
    var claims: [Claim] = []
    var budget = Digests.maxMergedAtOnce
    for job in try dueJobs(in: reader.queue.lanes().filter { !$0.isForUpdates }, limit, now: now, capacity) {
      guard
        let id = try job.isLate ? transaction.digests.coalesce(job.queue, now: now, budget: &budget, &shared) : job.id
      else {
        continue
      }
      do {
        let claim = try claim(id, &shared)
        try db.run(
          Self.claiming,
          [
            leaseUntil.rawValue, claim.attempts, claim.device.platform.rawValue, claim.device.token,
            claim.shown?.badge, id,
          ])
        claims.append(claim)
      } catch let obstacle as Obstacle {
        try finish(id, state: .cancelled, note: obstacle.rawValue, now: now)
        // A call that ended while its push was held is a missed call.
        if obstacle == .ringsNoMore { try transaction.updates.putEntry(of: id, due: now) }
      } catch StoreError.invalidRow(let reason) {
        // An invalid row must not block the pushes of other users.
        try finish(id, state: .dead, note: reason, now: now)
      }
    }
    return claims
  }

  private static let claiming = """
    UPDATE jobs SET \(JobEvent.claimed.assignment), lease = ?, attempts = ?, platform = ?, token = ?, badge = ?
    WHERE id = ? AND \(JobEvent.claimed.condition)
    """

  /// Renews expired leases of claims on which the caller still works, so that nobody claims these jobs again. A lease
  /// is only needed when a caller has ended.
  public func renewLeases(of inProgress: Set<String>, now: Timestamp, until: Timestamp) throws {
    guard !inProgress.isEmpty else { return }
    let rows = try db.all("SELECT number, id FROM jobs WHERE state = 'sending' AND lease <= ?", [now.rawValue])
    for row in rows where inProgress.contains(row["id"]) {
      try db.run("UPDATE jobs SET lease = ? WHERE number = ?", [until.rawValue, row["number"] as Int64])
    }
  }

  /// Ends leases. The caller may append a further condition. The pushes of these jobs may have reached the phones.
  static let leaseEnd = """
    UPDATE jobs SET \(JobEvent.leaseEnded.assignment), lease = NULL, is_unknown = 1 WHERE \(JobEvent.leaseEnded.condition)
    """

  private static let leaseEndByTime = "\(leaseEnd) AND lease <= ?"

  /// The due jobs of these lanes that can be claimed, those with the earliest due time first.
  func dueJobs(in lanes: [Lane], _ limit: Int, now: Timestamp, _ capacity: [Lane: Int]) throws -> [DueJob] {
    var found: [DueJob] = []
    for lane in lanes {
      let limit = min(limit, capacity[lane] ?? limit)
      if limit > 0 { found += try dueJobs(of: lane, limit: limit, now: now) }
    }
    found.sort { ($0.due, $0.queue.room, $0.seq) < ($1.due, $1.queue.room, $1.seq) }
    return Array(found.prefix(limit))
  }

  /// The first due push of each device, or all due updates, those with the earliest due time first.
  private func dueJobs(of lane: Lane, limit: Int, now: Timestamp) throws -> [DueJob] {
    struct Target: Hashable {
      let user: Int64
      let device: String
    }
    var targets: Set<Target> = []
    var found: [DueJob] = []
    let rows = try Row.fetchCursor(db.cachedStatement(sql: Self.dueInLane), arguments: [lane.name, now.rawValue])
    while found.count < limit, let row = try rows.next() {
      let queue = JobQueue(row)
      guard lane.isForUpdates || targets.insert(Target(user: queue.user, device: queue.device)).inserted else {
        continue
      }
      found.append(
        DueJob(
          number: row["number"], id: row["id"], queue: queue, seq: row["seq"], due: row["due"], isLate: row["is_late"]))
    }
    return found
  }

  private static let dueInLane = """
    SELECT number, id, user, device, due, room, seq, is_late FROM jobs AS job
    WHERE \(QueueReader.isClaimable) AND lane = ? AND due <= ? ORDER BY due, room, seq
    """

  struct DueJob {
    let number: Int64
    let id: String
    let queue: JobQueue
    let seq, due: Int64
    /// True if the job could not be sent at once.
    let isLate: Bool
  }

  /// The messages of a job that was sent, with the present data.
  ///
  /// A user whose `join` was withdrawn counts as a member only if the message was deleted: the phone then shows less.
  /// - Parameter isDeleted: True if the message was deleted.
  /// - Returns: `nil` when the message was read or is gone, or when the recipient is not a member.
  func shown(by id: String, isDeleted: Bool, _ shared: inout Shared) throws -> ShownMessages? {
    do {
      return try claim(id, isDeleted: isDeleted, isChange: true, &shared).shown
    } catch is Obstacle {
      return nil
    }
  }

  /// The row of a job. Parameters: its id, and true if its message was deleted.
  private static let claimQuery = """
    SELECT job.room, job.user, job.attempts, job.created, job.steps, job.expires - job.steps AS ends, job.level,
      job.is_notify_anyway, job.digest IS NOT NULL AS is_digest, rooms.name AS room_name, rooms.epoch, rooms.is_group,
      EXISTS (SELECT 1 FROM members WHERE room = job.room AND user = messages.sender) AS is_sender_member,
      details.title AS room_title, details.avatar AS room_avatar, recipient.name AS recipient,
      CASE WHEN NOT members.is_withdrawn OR ?2 THEN members.read END AS read,
      collapsed.name AS collapse_room, job.collapse_seq, replaced.push_collapse AS collapse_scope, coalesce(original.sender = job.user, 0) AS is_reply,
      sender.display_name, sender.avatar, sender.avatar_sha256, sender.handle, sender.handle_type,
      messages.reports, \(ResponseReader.isAnsweredCall) AS is_answered, \(CallReader.ringsNoMore) AS rings_no_more,
      EXISTS (SELECT 1 FROM removals WHERE removals.user = job.user AND removals.device = job.device) AS has_removals,
      \(Device.columns), \(StoredMessage.columns),
      \(PushRequest.columns)
    FROM jobs AS job
    JOIN rooms ON rooms.id = job.room
    LEFT JOIN details ON details.room = job.room
    JOIN users AS recipient ON recipient.id = job.user
    LEFT JOIN members ON members.room = job.room AND members.user = job.user
    LEFT JOIN devices ON devices.user = job.user AND devices.device = job.device
    LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
    LEFT JOIN users AS sender ON sender.id = messages.sender
    LEFT JOIN messages AS original ON original.room = job.room AND original.seq = messages.reply_to
    LEFT JOIN rooms AS collapsed ON collapsed.id = job.collapse_room
    LEFT JOIN messages AS replaced ON replaced.room = job.collapse_room AND replaced.seq = job.collapse_seq
    WHERE job.id = ?1
    """

  /// - Parameter isChange: True for a change of a push that the phone shows. A call may have ended since.
  private func claim(
    _ id: String, isDeleted: Bool = false, isChange: Bool = false, _ shared: inout Shared
  ) throws -> Claim {
    let found = try db.first(Self.claimQuery, [id, isDeleted]) { row in
      if let obstacle = Obstacle(row, isDeleted: isDeleted) { throw obstacle }
      if !isChange, row["rings_no_more"] { throw Obstacle.ringsNoMore }
      return (
        room: row["room"] as Int64, user: row["user"] as Int64, isDigest: row["is_digest"] as Bool,
        isSenderMember: row["is_sender_member"] as Bool, hasRemovals: row["has_removals"] as Bool,
        claim: try Claim(id, row, push: shared.push(row))
      )
    }
    guard let found, var shown = found.claim.shown else { throw Obstacle.noMessage }
    var claim = found.claim
    shown.criteria = try shared.preferences(of: found.user)[shown.room.id].criteria ?? claim.device.criteria
    shown.room.recipientCount = try max(1, shared.members(of: found.room) - (found.isSenderMember ? 1 : 0))
    shown.unread = try shared.badge(of: found.user, on: claim.device)
    if !isChange {
      if found.hasRemovals {
        claim.removals = try transaction.updates.openRemovals(of: claim.device.id.rawValue, ofRow: found.user)
      }
      if found.isDigest { try addDigest(to: &shown, in: found.room) }
    }
    claim.content = .alert(shown)
    return claim
  }

  /// Adds the merged messages to those of a digest head, and stores the contents of the digest.
  private func addDigest(to shown: inout ShownMessages, in room: Int64) throws {
    let id = shown.notification
    try transaction.digests.expireMerged(into: id)
    let digest = try transaction.digests.digest("\(Digests.isMerged("job"))", [id], in: room)
    (shown.count, shown.others) = (digest.count, digest.others)
    // The level is at most the highest one of the messages that are left.
    shown.level = shown.level.map { min($0, max(shown.push.allowedLevel, digest.maxLevel ?? .passive)) }
    // All merged jobs have ended, so the job is not a digest any more.
    guard try shown.isDigest || transaction.digests.isDigestHead(id) else {
      try db.run("UPDATE jobs SET digest = NULL, level = ? WHERE id = ?", [shown.level?.rawValue, id])
      return
    }
    let own = DigestCount(room: shown.room.id, seq: shown.message.seq, count: shown.count)
    let contents = [own] + shown.others.map { DigestCount(room: $0.room, seq: $0.message.seq, count: $0.count) }
    try db.run("UPDATE jobs SET digest = ? WHERE id = ?", [StoredJSON.text(of: contents), id])
  }
}

extension Claim {
  /// A claim without the values that need further queries.
  /// - Parameter row: A row of the query of a claim, without an obstacle.
  fileprivate init(_ id: String, _ row: Row, push: PushRequest) throws {
    let message = try StoredMessage(row)
    let device = try Device(row)
    let room = RoomID(unchecked: row["room_name"])
    let collapseRoom: String? = row["collapse_room"]
    let steps = Duration.milliseconds(row["steps"] as Int64)
    let shown = ShownMessages(
      notification: id,
      room: PayloadRoom(
        id: room, title: row.line("room_title"), avatar: row["room_avatar"], isGroup: row["is_group"]),
      epoch: row["epoch"], message: message, push: push,
      sender: User(
        id: message.from, name: row.line("display_name"), avatar: row["avatar"], handle: row.line("handle"),
        handleType: row.line("handle_type"), avatarSHA256: row["avatar_sha256"]),
      steps: steps, ends: row.time("ends"), unread: 0, level: try row.choiceIfAny("level"), isReply: row["is_reply"],
      isNotifyAnyway: row["is_notify_anyway"], reports: row["reports"],
      collapse: collapseRoom.map { MessageReference(room: RoomID(unchecked: $0), seq: row["collapse_seq"]) }
        ?? MessageReference(room: room, seq: message.seq),
      collapseScope: try row.choiceIfAny("collapse_scope") ?? push.style.collapse)
    self.init(
      id: id, attempts: row["attempts"] + 1, created: row.timestamp("created"), steps: steps,
      recipient: UserID(unchecked: row["recipient"]), device: device, content: .alert(shown))
  }
}
