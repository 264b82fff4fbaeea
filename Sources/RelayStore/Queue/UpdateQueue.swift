// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
public import RelayProtocol

/// The updates of phones: pushes that change or remove notifications, set badges, or wake an app.
///
/// An update stores only the notification or the device that a change concerns. The decision follows at the claim:
/// ``claim(limit:now:leaseUntil:apps:zones:capacity:)`` reads the facts, and ``RelayDelivery/PhonePlanner`` decides.
///
/// - An update is a row of the table `jobs` whose `kind` is an ``UpdateKind``.
/// - A notification has at most one update (`entry`). A device has at most one for its badge and its removals
///   (`phone`), and at most one that wakes the app (`silent`).
/// - The relay deletes an update after it has sent it.
public struct UpdateQueue: TransactionPart {
  let transaction: Transaction

  /// The maximum number of stored updates of notifications for one device. Beyond it the relay drops the oldest ones,
  /// and removes their notifications if the message was deleted.
  public static let maxUpdates = 100
  /// The maximum number of updates that the transaction of a change stores. The others follow in slices.
  public static let maxUpdatesWithChange = 64
  /// The maximum number of updates in a slice. Each slice has its own transaction.
  public static let maxUpdateSlice = 256
  /// The maximum number of a user's notifications that one change removes. The newest ones are removed.
  public static let maxRemoved = 256

  // MARK: Causes about messages

  /// A message or its call has changed. If many phones may show it, most updates follow in slices: see
  /// ``storePending()``.
  func changed(_ room: Int64, _ seq: Int64) throws {
    let stored = try storeUpdates(room, seq, after: Position(), limit: Self.maxUpdatesWithChange)
    if let next = stored.next {
      // The row gets a new id at the end of the queue, so that repeated edits of one message do not delay the others.
      try db.run(
        "INSERT OR REPLACE INTO pending_changes (room, seq, user, device) VALUES (?, ?, ?, ?)",
        [room, seq, next.user, next.device])
    } else {
      try db.run("DELETE FROM pending_changes WHERE room = ? AND seq = ?", [room, seq])
    }
  }

  /// A call has changed for one user.
  func changed(_ room: Int64, _ seq: Int64, for user: Int64) throws {
    var position: Position? = Position(user: user, device: "")
    while let next = position {
      position = try storeUpdates(room, seq, after: next, limit: Self.maxUpdatesWithChange, only: user).next
    }
  }

  /// Stores the next slice of the updates of pending changes.
  public func storePending() throws {
    var left = Self.maxUpdateSlice
    while left > 0 {
      let pending = try db.first("SELECT room, seq, user, device, id FROM pending_changes ORDER BY id LIMIT 1")
      guard let pending else { return }
      let id: Int64 = pending["id"]
      let stored = try storeUpdates(
        pending["room"], pending["seq"], after: Position(user: pending["user"], device: pending["device"]), limit: left)
      left -= max(1, stored.count)
      if let next = stored.next {
        try db.run("UPDATE pending_changes SET user = ?, device = ? WHERE id = ?", [next.user, next.device, id])
      } else {
        try db.run("DELETE FROM pending_changes WHERE id = ?", [id])
      }
    }
  }

  /// A position in the order of devices in which updates are stored.
  private struct Position: Comparable, Hashable {
    var user: Int64 = 0
    var device = ""

    init(user: Int64 = 0, device: String = "") { (self.user, self.device) = (user, device) }

    /// - Parameter row: Has the columns `user` and `device`.
    init(_ row: Row) { self.init(user: row["user"], device: row["device"]) }

    static func < (left: Position, right: Position) -> Bool {
      (left.user, left.device) < (right.user, right.device)
    }
  }

  /// Stores the updates of the next devices.
  /// - Parameter user: The user whose devices get updates. Is `nil` for all users.
  /// - Returns: The number of updates, and the last device if others may follow.
  private func storeUpdates(
    _ room: Int64, _ seq: Int64, after position: Position, limit: Int, only user: Int64? = nil
  ) throws -> (count: Int, next: Position?) {
    let slice: StatementArguments = [room, seq, position.user, position.device, limit, user]
    // Includes calls that were not sent to a phone: the phone may show a missed call instead.
    let entries = try db.all(
      """
      SELECT jobs.user, jobs.device, max(jobs.round), jobs.id, jobs.merged_into
      FROM jobs INDEXED BY jobs_of_message
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq
      JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device
      WHERE jobs.kind = 'push' AND jobs.room = ?1 AND jobs.seq = ?2
        AND (jobs.state IN ('sent', 'sending', 'merged') OR jobs.is_unknown
          OR jobs.state IN ('expired', 'cancelled')
            AND (messages.is_deleted OR messages.push_kind = '\(MessageKind.call.rawValue)'))
        AND (jobs.user, jobs.device) > (?3, ?4) AND (?6 IS NULL OR jobs.user = ?6)
      GROUP BY jobs.user, jobs.device ORDER BY jobs.user, jobs.device LIMIT ?5
      """,
      slice)
    // A deleted message is not unread any more, also on a phone that got no push of it.
    let badges = try db.all(
      """
      SELECT members.user, devices.device
      FROM messages JOIN members ON members.room = messages.room AND members.read < messages.seq
      CROSS JOIN devices ON devices.user = members.user AND devices.badge > 0
      WHERE messages.room = ?1 AND messages.seq = ?2 AND messages.is_deleted
        AND members.user >= ?3 AND (members.user, devices.device) > (?3, ?4) AND (?6 IS NULL OR members.user = ?6)
      ORDER BY members.user, devices.device LIMIT ?5
      """,
      slice)
    let next = [entries, badges].filter { $0.count == limit }.compactMap { $0.last.map(Position.init(_:)) }.min()
    func isInSlice(_ row: Row) -> Bool { next.map { Position(row) <= $0 } ?? true }
    var count = 0
    for row in entries where isInSlice(row) {
      try putEntry(of: row["merged_into"] ?? row["id"], due: now)
      count += 1
    }
    // The update of a notification brings the badge, too.
    let updated = Set(entries.map(Position.init(_:)))
    for row in badges where isInSlice(row) && !updated.contains(Position(row)) {
      try touch(row["device"], ofRow: row["user"])
      count += 1
    }
    return (count, next)
  }

  /// Plans the notification of a call again at the end of its ringing.
  func expectEnd(ofCall job: String) throws {
    let end = try db.first(
      """
      SELECT jobs.expires - jobs.steps AS ends FROM jobs
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq AND NOT messages.is_deleted
        AND messages.push_kind = '\(MessageKind.call.rawValue)'
      WHERE jobs.id = ? AND jobs.expires IS NOT NULL
      """,
      [job])
    if let end { try putEntry(of: job, due: transaction.wallTime(end.timestamp("ends"))) }
  }

  // MARK: Causes about users

  /// The user reads messages. Call this before the read mark is raised.
  public func read(_ room: RoomID, _ user: UserID, upTo seq: Int64) throws {
    guard let known = try row(of: room), let id = try row(of: user) else { return }
    let read = try db.first("SELECT read FROM members WHERE room = ? AND user = ?", [known.id, id])
    guard let mark: Int64 = read?["read"], seq > mark else { return }
    let range: StatementArguments = [known.id, mark, seq]
    let jobs = "\(Self.jobsInRoom) AND job.seq > ?3 AND job.seq <= ?4"
    try withdraw(
      "\(jobs) AND job.digest IS NULL", of: id, range, readUpTo: MessageReference(room: room, seq: seq))
    // The relay removes a digest when the user has read all of its messages.
    for head in try digestHeads(of: jobs, ofUser: id, range) where try isRead(head.id, room: known.id, upTo: seq) {
      try hideEntry(of: head.id)
    }
    // The phone may show a badge without a notification.
    for row in try db.all("SELECT device FROM devices WHERE user = ? AND badge > 0", [id]) {
      try touch(row["device"], ofRow: id)
    }
  }

  /// True if the user has read all messages of a digest.
  private func isRead(_ head: String, room: Int64, upTo seq: Int64) throws -> Bool {
    try !db.has(
      """
      SELECT 1 FROM jobs AS job
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq AND NOT messages.is_deleted
      JOIN members ON members.room = job.room AND members.user = job.user
      WHERE (job.id = ?1 OR job.merged_into = ?1)
        AND job.seq > CASE job.room WHEN ?2 THEN max(members.read, ?3) ELSE members.read END
      """,
      [head, room, seq])
  }

  /// The user is no member of a room any more, or lost the right to join it.
  /// - Parameter isDeleted: True if the room itself is deleted, with its jobs.
  /// - Returns: The number of notifications that the phones must remove.
  @discardableResult
  func left(_ room: Int64, _ user: Int64, isDeleted: Bool = false) throws -> Int {
    try left([room], user, isDeleted: isDeleted)
  }

  /// The user has left several rooms.
  @discardableResult
  func left(_ rooms: [Int64], _ user: Int64, isDeleted: Bool = false) throws -> Int {
    var count = 0
    for room in rooms {
      count += try hide(of: user, Self.jobsInRoom, [room], deleted: isDeleted ? room : nil)
    }
    try badgesChanged(of: user)
    return count
  }

  /// The user has blocked a sender.
  func blocked(_ sender: Int64, by user: Int64) throws {
    try hide(
      of: user,
      """
      SELECT job.number FROM (
        SELECT number, room, seq FROM jobs INDEXED BY jobs_user WHERE user = ?1 AND kind = 'push'
        ORDER BY number DESC LIMIT \(4 * Self.maxRemoved)) AS job
      JOIN messages ON messages.room = job.room AND messages.seq = job.seq AND messages.sender = ?2
      """,
      [sender])
    try badgesChanged(of: user)
  }

  /// An invitation has ended whose push was this notification. A push that is on its way is planned again when it has
  /// arrived.
  func invitationEnded(_ room: Int64, _ seq: Int64, of user: Int64) throws {
    try transaction.queue.cancelJobs(
      "room = ? AND seq = ? AND user = ?", [room, seq, user], note: "the invitation has ended")
    // The next notification of the user may have waited for this one.
    cache.updates.notify()
    try hide(of: user, "\(Self.jobsInRoom) AND job.seq = ?3", [room, seq])
  }

  /// A query of the numbers of the jobs of user ?1 in room ?2. The caller may append a condition.
  private static let jobsInRoom = """
    SELECT job.number FROM devices CROSS JOIN jobs AS job INDEXED BY jobs_message
    WHERE devices.user = ?1 AND job.user = ?1 AND job.device = devices.device AND job.room = ?2
    """

  /// Removes notifications, and plans their digests again.
  /// - Parameters:
  ///   - jobs: A query of the numbers of jobs of user ?1.
  ///   - deleted: The room whose jobs are deleted next, so that a digest of such a job is removed at once.
  @discardableResult
  private func hide(
    of user: Int64, _ jobs: String, _ arguments: StatementArguments, deleted: Int64? = nil
  ) throws -> Int {
    let heads = try digestHeads(of: jobs, ofUser: user, arguments)
    for head in heads {
      if head.room == deleted { try hideEntry(of: head.id) } else { try putEntry(of: head.id, due: now) }
    }
    let condition = "SELECT number FROM jobs WHERE number IN (\(jobs)) AND digest IS NULL"
    return try heads.count + withdraw(condition, of: user, arguments)
  }

  private struct DigestHead {
    let id: String
    let room: Int64
  }

  /// The digests that a phone shows, or gets now, with messages of these jobs: at most ``maxUpdates``.
  /// - Parameter jobs: A query of the numbers of jobs of user ?1.
  private func digestHeads(
    of jobs: String, ofUser user: Int64, _ arguments: StatementArguments
  ) throws -> [DigestHead] {
    try db.all(
      """
      SELECT DISTINCT head.id, head.room FROM jobs AS job
      JOIN jobs AS head ON head.id = coalesce(job.merged_into, job.id) AND head.digest IS NOT NULL
      WHERE +job.user = ?1 AND job.number IN (\(jobs)) AND head.state IN ('sent', 'sending') LIMIT \(Self.maxUpdates)
      """,
      [user] + arguments
    ) { DigestHead(id: $0["id"], room: $0["room"]) }
  }

  /// Withdraws the notifications of jobs, and plans those again whose pushes are being sent.
  /// - Parameters:
  ///   - jobs: A query of the numbers of jobs of user ?1.
  ///   - mark: The read position that covers all of them. Is `nil` if the phones remove each by itself.
  /// - Returns: The number of notifications that the phones must remove.
  @discardableResult
  private func withdraw(
    _ jobs: String, of user: Int64, _ arguments: StatementArguments, readUpTo mark: MessageReference? = nil
  ) throws -> Int {
    let leaving = try db.all(
      "SELECT id FROM jobs WHERE number IN (\(jobs)) AND +user = ?1 AND kind = 'push' AND state = 'sending'",
      [user] + arguments)
    for row in leaving { try putEntry(of: row["id"], due: now) }
    let gone = try db.all(
      """
      UPDATE jobs SET phone = '\(EntryState.gone.rawValue)' WHERE number IN (
        SELECT number FROM jobs WHERE number IN (\(jobs)) AND +user = ?1 AND kind = 'push' AND \(Self.isShown)
        ORDER BY number DESC LIMIT \(Self.maxRemoved))
      RETURNING number, device, \(Self.identity)
      """,
      [user] + arguments
    ) { (number: $0["number"] as Int64, device: $0["device"] as String, entry: MessageReference(identity: $0)) }
    let devices = Set(gone.map(\.device))
    if let mark {
      for device in devices { try putRead(device, ofRow: user, upTo: mark) }
    } else {
      // The newest notification gets the newest removal.
      for found in gone.sorted(by: { $0.number < $1.number }) {
        try putRemoval(found.device, ofRow: user, found.entry)
      }
    }
    for device in devices {
      try boundRemovals(of: device, ofRow: user)
      try touch(device, ofRow: user)
    }
    return gone.count
  }

  /// Removes the notification of one job.
  func hideEntry(of job: String) throws {
    guard let owner = try db.first("SELECT user FROM jobs WHERE id = ?", [job]) else { return }
    try withdraw("SELECT job.number FROM jobs AS job WHERE job.id = ?2", of: owner["user"], [job])
  }

  /// The message by which a phone knows the notification of a row of `jobs`: its own, or that of the notification whose
  /// place it has taken.
  static let identity = """
    coalesce(jobs.collapse_seq, jobs.seq) AS seq,
    (SELECT \(Schema.knownName("rooms.name")) FROM rooms WHERE rooms.id = coalesce(jobs.collapse_room, jobs.room)) AS room
    """

  /// A condition on a row of `jobs`: the push has reached the phone, or may have.
  private static let mayHaveArrived = "(state = 'sent' OR is_unknown)"

  /// A condition on a row of `jobs`: the phone may have its notification, shown or dismissed.
  static let isShown =
    "merged_into IS NULL AND (phone IN ('shown', 'concluded', 'ended') OR phone IS NULL AND \(mayHaveArrived))"

  /// The ``EntryState`` of a row of `jobs`.
  static let entryState = """
    coalesce(phone, CASE WHEN \(mayHaveArrived) THEN '\(EntryState.shown.rawValue)' ELSE '\(EntryState.unsent.rawValue)' END)
    """

  /// Call this when the number of a user's unread messages may have changed without a new message.
  public func badgesChanged(of user: UserID) throws {
    if let id = try row(of: user) { try badgesChanged(of: id) }
  }

  func badgesChanged(of user: Int64) throws {
    for row in try db.all("SELECT device FROM devices WHERE user = ?", [user]) { try touch(row["device"], ofRow: user) }
  }

  /// Plans the badges of the accounts that remain on a phone after another account was removed.
  func badgeChanged(ofToken token: String, platform: String) throws {
    let other = try db.first("SELECT user, device FROM devices WHERE token = ? AND platform = ?", [token, platform])
    if let other { try touch(other["device"], ofRow: other["user"]) }
  }

  // MARK: Causes about devices

  /// The person has dismissed or opened a notification on its phone, or answered it there.
  /// - Parameter job: The job of the notification, or one that is merged into it.
  func finished(_ job: String) throws {
    try db.run(
      """
      UPDATE jobs SET phone = '\(EntryState.ended.rawValue)'
      WHERE id = (SELECT coalesce(merged_into, id) FROM jobs WHERE id = ?) AND \(Self.entryState) IN ('shown', 'concluded')
      """,
      [job])
  }

  /// A push has reached its phone although its job was cancelled meanwhile.
  func arrivedLate(_ job: String) throws {
    try db.run("UPDATE jobs SET phone = NULL WHERE id = ? AND phone = '\(EntryState.gone.rawValue)'", [job])
    try putEntry(of: job, due: now)
  }

  /// The phone shows another text in place of a notification.
  func replaced(_ job: String, by text: EntryText) throws {
    let found = try db.first(
      "UPDATE jobs SET phone = ? WHERE id = ? RETURNING user, device, \(Self.identity)", [text.state.rawValue, job])
    guard text == .deleted, let found else { return }
    // The phone may have been off, so a later sign of life repeats the removal.
    try putRemoval(found["device"], ofRow: found["user"], MessageReference(identity: found), .sent)
    try boundRemovals(of: found["device"], ofRow: found["user"])
  }

  /// A sign of life of a device, after which removals are sent again or are done.
  public func alive(_ device: DeviceID, of user: UserID) throws {
    guard let id = try row(of: user) else { return }
    let key: StatementArguments = [id, device.rawValue]
    guard try db.has("SELECT 1 FROM removals WHERE user = ? AND device = ?", key) else { return }
    try apply(.gaveSign, to: "user = ? AND device = ?", key)
    if try hasDueRemovals(of: device.rawValue, ofRow: id) { try touch(device.rawValue, ofRow: id) }
  }

  /// Plans the badge of a device for a message that causes no other push.
  func countMessage(_ queue: JobQueue) throws { try touch(queue.device, ofRow: queue.user) }

  // MARK: Storing updates

  /// Stores the update of a job's notification.
  func putEntry(of job: String, due: Timestamp) throws {
    let found = try db.first("SELECT user, device, room, seq FROM jobs WHERE id = ?", [job])
    guard let found else { return }
    let (user, device): (Int64, String) = (found["user"], found["device"])
    try put(.entry, job: job, user: user, device: device, room: found["room"], seq: found["seq"], due: due)
    try boundUpdates(of: device, ofRow: user)
  }

  /// Stores the update of a device: its badge and its removals.
  func touch(_ device: String, ofRow user: Int64) throws {
    try put(.phone, job: nil, user: user, device: device, room: 0, seq: 0, due: now)
  }

  /// Stores a push that wakes an app. It replaces an earlier one that was not sent yet.
  func insertSilent(_ queue: JobQueue, seq: Int64) throws {
    let device = try db.first(
      "SELECT woken FROM devices WHERE user = ? AND device = ?", [queue.user, queue.device])
    guard let device else { return }
    let due = max(now, PhonePlanner.wakeTime(after: device.time("woken").map(transaction.wallTime), now: now))
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
    _ kind: UpdateKind, job: String?, user: Int64, device: String, room: Int64, seq: Int64, due: Timestamp
  ) throws {
    guard let service = try transaction.queue.service(of: device, ofRow: user) else { return }
    // If the update exists, it becomes due again. If it is being sent at this moment, `is_again` plans it again
    // afterwards.
    try db.run(
      """
      INSERT INTO jobs
        (id, target, user, device, kind, room, seq, due, platform, token, lane, created, round, state, is_next,
          is_notify_anyway, reasons, steps)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \(Self.round), '\(JobState.ready.rawValue)', 1, 0, '[]', ?)
      ON CONFLICT (user, device, room, seq, round) DO UPDATE SET kind = excluded.kind, target = excluded.target,
        due = min(due, excluded.due), is_again = state = 'sending', created = excluded.created, steps = excluded.steps,
        attempts = 0
      """,
      [
        TimeOrderedID.text(at: now), job, user, device, kind.rawValue, room, seq, due.rawValue, service.platform,
        service.token, service.lane.forUpdates.name, max(now, due).rawValue, transaction.steps.milliseconds,
      ])
    cache.updates.notify()
  }

  /// The value of the column `round` for updates. Pushes have 0 and 1. With the unique key (user, device, room, seq,
  /// round) a device has at most one update for each message.
  private static let round = 2

  /// Drops the oldest updates beyond ``maxUpdates``. A change of the message renews an update, so that the numbers of
  /// the jobs do not order them.
  private func boundUpdates(of device: String, ofRow user: Int64) throws {
    let condition = "\(Schema.updates) AND user = ? AND device = ? AND kind = 'entry'"
    let count: Int = try db.first("SELECT count(*) FROM jobs WHERE \(condition)", [user, device])?[0] ?? 0
    guard count > Self.maxUpdates else { return }
    let dropped = try db.all(
      """
      DELETE FROM jobs WHERE number IN (
        SELECT number FROM jobs WHERE \(condition) AND state <> 'sending' ORDER BY created - steps, number
        LIMIT ?)
      RETURNING target, room, seq
      """,
      [user, device, count - Self.maxUpdates])
    for row in dropped {
      let (room, seq): (Int64, Int64) = (row["room"], row["seq"])
      guard try db.has("SELECT 1 FROM messages WHERE room = ? AND seq = ? AND is_deleted", [room, seq]) else {
        continue
      }
      try hideEntry(of: row["target"])
    }
  }
}

extension MessageReference {
  /// - Parameter row: Has the columns of `UpdateQueue.identity`.
  init(identity row: Row) { self.init(room: RoomID(unchecked: row["room"] ?? ""), seq: row["seq"]) }
}
