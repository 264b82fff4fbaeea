// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Claims due jobs, the longest due first. The caller must finish each before `leaseUntil`.
  ///
  /// A device has at most one claimed job, and the messages of a room go to it in their order. Messages that could not
  /// go out at once become one push. When the lease of a claim ends, the job can be claimed again, with the same id. A
  /// job is cancelled here if its device or message is gone, or if the message was deleted or read. A job is dead if
  /// its rows cannot be read.
  /// - Parameter capacity: The maximum of each lane, where `limit` is not its only bound.
  public func claim(
    limit: Int, now: Timestamp, leaseUntil: Timestamp, capacity: [Lane: Int] = [:]
  ) throws -> [Claim] {
    try db.run("\(Self.leaseEnd) AND lease <= ?", [now.rawValue])
    try endWaits(now: now)
    var shared = Shared(db: db, now: now)
    var claims: [Claim] = []
    var budget = Self.mostMergedAtOnce
    for job in try dueJobs(limit: limit, now: now, capacity: capacity) {
      guard let id = try job.isLate ? coalesce(job.queue, now: now, budget: &budget) : job.id else { continue }
      do {
        let claim = try claim(id, isDeleted: false, &shared)
        try db.run(
          """
          UPDATE jobs SET \(JobEvent.claimed.assignment), lease = ?, attempts = ?, platform = ?, token = ?
          WHERE id = ? AND \(JobEvent.claimed.condition)
          """,
          [leaseUntil.rawValue, claim.attempts, claim.device.platform.rawValue, claim.device.token, id])
        claims.append(claim)
      } catch let obstacle as Obstacle {
        try finish(id, state: .cancelled, note: obstacle.note, now: now)
      } catch StoreError.damaged(let reason) {
        // The pushes of other users do not wait for it.
        try finish(id, state: .dead, note: reason, now: now)
      }
    }
    return claims
  }

  /// Renews ended leases of claims on which the caller still works, so that these jobs are not claimed again. A lease
  /// protects against callers that have ended.
  public func renewLeases(of underWay: Set<String>, now: Timestamp, until: Timestamp) throws {
    guard !underWay.isEmpty else { return }
    for (table, condition) in [("jobs", "state = 'sending' AND"), ("updates", "")] {
      let rows = try db.all("SELECT number, id FROM \(table) WHERE \(condition) lease <= ?", [now.rawValue])
      for row in rows where underWay.contains(row[1]) {
        let place: Int64 = row[0]
        try db.run("UPDATE \(table) SET lease = ? WHERE number = ?", [until.rawValue, place])
      }
    }
  }

  /// Ends leases; a further condition may follow. Their pushes may have reached the phones.
  static let leaseEnd = """
    UPDATE jobs SET \(JobEvent.leaseEnded.assignment), lease = NULL, is_unknown = 1 WHERE \(JobEvent.leaseEnded.condition)
    """

  private func dueJobs(limit: Int, now: Timestamp, capacity: [Lane: Int]) throws -> [DueJob] {
    var found: [DueJob] = []
    for lane in try reader.lanes() {
      let limit = min(limit, capacity[lane] ?? limit)
      if limit > 0 { found += try dueJobs(of: lane, limit: limit, now: now) }
    }
    found.sort { ($0.due, $0.queue.room, $0.seq) < ($1.due, $1.queue.room, $1.seq) }
    return Array(found.prefix(limit))
  }

  /// The first due job of each device, the longest due first.
  private func dueJobs(of lane: Lane, limit: Int, now: Timestamp) throws -> [DueJob] {
    struct Target: Hashable {
      let user: Int64
      let device: String
    }
    var targets: Set<Target> = []
    var found: [DueJob] = []
    let statement = try db.cachedStatement(
      sql: """
        SELECT id, user, device, due, room, seq, is_late FROM jobs AS job
        WHERE \(Reader.isClaimable) AND lane = ? AND due <= ? ORDER BY due, room, seq
        """)
    let rows = try Row.fetchCursor(statement, arguments: [lane.name, now.rawValue])
    while found.count < limit, let row = try rows.next() {
      let queue = JobQueue(row)
      guard targets.insert(Target(user: queue.user, device: queue.device)).inserted else { continue }
      found.append(
        DueJob(id: row["id"], queue: queue, seq: row["seq"], due: row["due"], isLate: row["is_late"]))
    }
    return found
  }

  private struct DueJob {
    let id: String
    let queue: JobQueue
    let seq, due: Int64
    /// It could not go out at once.
    let isLate: Bool
  }

  /// A job that was sent, as it would be sent now.
  ///
  /// A user whose `join` was withdrawn counts as a member only if the message was deleted: the phone then shows less.
  /// - Parameter isDeleted: True if the message was deleted.
  /// - Returns: `nil` when the message was read or is gone, or when the recipient is not a member.
  func change(of id: String, isDeleted: Bool, _ shared: inout Shared) throws -> Claim? {
    do {
      return try claim(id, isDeleted: isDeleted, &shared)
    } catch is Obstacle {
      return nil
    }
  }

  private func claim(_ id: String, isDeleted: Bool, _ shared: inout Shared) throws -> Claim {
    let row = try db.first(
      """
      SELECT job.room, job.user, job.attempts, job.created, job.level, job.is_notify_anyway, job.digest IS NOT NULL,
        rooms.name, rooms.epoch, recipient.name,
        CASE WHEN NOT members.is_withdrawn OR ?2 THEN members.read END, collapsed.name, job.collapse_seq,
        coalesce(original.sender = job.user, 0), sender.display_name, sender.avatar, messages.reports,
        \(Device.columns), \(StoredMessage.columns), sender.handle, sender.handle_type,
        \(Reader.isAnsweredCall), devices.registered, sender.avatar_sha256
      FROM jobs AS job
      JOIN rooms ON rooms.id = job.room
      JOIN users AS recipient ON recipient.id = job.user
      LEFT JOIN members ON members.room = job.room AND members.user = job.user
      LEFT JOIN devices ON devices.user = job.user AND devices.device = job.device
      LEFT JOIN messages ON messages.room = job.room AND messages.seq = job.seq
      LEFT JOIN users AS sender ON sender.id = messages.sender
      LEFT JOIN messages AS original ON original.room = job.room AND original.seq = messages.reply_to
      LEFT JOIN rooms AS collapsed ON collapsed.id = job.collapse_room
      WHERE job.id = ?1
      """,
      [id, isDeleted])
    guard let row else { throw Obstacle.noMessage }
    let room = RoomID(unchecked: row[7])
    if let obstacle = Obstacle(
      read: row[10] ?? (room.isNotifications ? 0 : nil), device: row[17], message: row[29],
      isDeleted: (row[35] as Bool?).map { $0 != isDeleted })
    {
      throw obstacle
    }
    if row[39] { throw Obstacle.answered }
    let message = try StoredMessage(row, at: 29)
    let collapsed: String? = row[11]
    var device = try Device(row, at: 17)
    device.registered = row.time(40)
    let preferences = try shared.preferences(of: row[1])
    var claim = Claim(
      id: id, attempts: row[2] + 1, room: room, epoch: row[8], message: message,
      sender: User(
        id: message.from, name: row[14], avatar: row[15], handle: row[37], handleType: row[38], avatarSHA256: row[41]),
      recipient: UserID(unchecked: row[9]),
      device: device, created: Timestamp(rawValue: row[3]), roomMemberCount: try shared.members(of: row[0]),
      unread: try shared.badge(of: row[1], on: device), level: row[4], isReply: row[13], isNotifyAnyway: row[5],
      criteria: preferences[room].criteria ?? device.criteria, reports: row[16],
      collapse: collapsed.map { MessageReference(room: RoomID(unchecked: $0), seq: row[12]) })
    if row[6] { try addDigest(to: &claim, in: row[0]) }
    return claim
  }

  /// Adds the merged messages to the claim of a digest head, and stores the contents of the digest.
  private func addDigest(to claim: inout Claim, in room: Int64) throws {
    try expireMerged(into: claim.id)
    (claim.count, claim.others) = try digest(of: claim.id, in: room)
    // All merged jobs have ended: the job is no digest any more.
    guard try claim.count > 1 || !claim.others.isEmpty || isDigestHead(claim.id) else {
      try db.run("UPDATE jobs SET digest = NULL WHERE id = ?", [claim.id])
      return
    }
    let own = DigestCount(room: claim.room, seq: claim.message.seq, count: claim.count)
    let contents = [own] + claim.others.map { DigestCount(room: $0.room, seq: $0.message.seq, count: $0.count) }
    try db.run("UPDATE jobs SET digest = ? WHERE id = ?", [StoredJSON.text(of: contents), claim.id])
  }
}

/// The reason for which a due job is not sent.
private enum Obstacle: Error {
  case noDevice, noMessage, notMember, read, deleted, answered

  /// - Parameters:
  ///   - read: The recipient's mark, 0 where there is no room; nil: no member.
  ///   - device: nil: not registered.
  ///   - message: nil: not stored.
  init?(read: Int64?, device: String?, message: Int64?, isDeleted: Bool?) {
    if device == nil {
      self = .noDevice
    } else if isDeleted == true {
      self = .deleted
    } else if let message, let read {
      guard read >= message else { return nil }
      self = .read
    } else {
      self = message == nil ? .noMessage : .notMember
    }
  }

  var note: String {
    switch self {
    case .noDevice: "no device"
    case .noMessage: "no message"
    case .notMember: "not a member"
    case .read: "read"
    case .deleted: "deleted"
    case .answered: "answered"
    }
  }
}

/// Values that many claims of one call share.
struct Shared {
  let db: Database
  let now: Timestamp
  private var members: [Int64: Int] = [:]
  private var recipients: [Int64: Recipient] = [:]
  private var badges: [Badge: Int] = [:]

  private struct Recipient {
    let preferences: Preferences
    /// The criteria that the active filter of a device lets through, by device.
    let filters: [String: [String]]
  }

  private struct Badge: Hashable {
    let user: Int64
    let device: DeviceID
  }

  init(db: Database, now: Timestamp) {
    self.db = db
    self.now = now
  }

  mutating func members(of room: Int64) throws -> Int {
    if let known = members[room] { return known }
    let count: Int = try db.first("SELECT count(*) FROM members WHERE room = ?", [room])?[0] ?? 0
    members[room] = count
    return count
  }

  mutating func preferences(of user: Int64) throws -> Preferences { try recipient(user).preferences }

  /// The number of unread messages that a device of the user shows.
  mutating func badge(of user: Int64, on device: Device) throws -> Int {
    let badge = Badge(user: user, device: device.id)
    if let known = badges[badge] { return known }
    let recipient = try recipient(user)
    let count = try Reader(db: db).badge(
      of: user, recipient.preferences, filter: recipient.filters[device.id.rawValue], account: device.criteria, now: now
    )
    badges[badge] = count
    return count
  }

  private mutating func recipient(_ user: Int64) throws -> Recipient {
    if let known = recipients[user] { return known }
    let row = try db.first("SELECT preferences FROM users WHERE id = ?", [user])
    var filters: [String: [String]] = [:]
    let active = try db.all(
      "SELECT device, allow FROM filters WHERE user = ? AND is_active AND at > ? AND received > ?",
      [user, (now - FilterRecord.lifetime).rawValue, (now - FilterRecord.silence).rawValue])
    for row in active { filters[row[0]] = try row.json(1, "a filter's criteria") ?? [] }
    let recipient = Recipient(preferences: try row?.preferences(0) ?? Preferences(), filters: filters)
    recipients[user] = recipient
    return recipient
  }
}
