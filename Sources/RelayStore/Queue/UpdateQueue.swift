// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayDelivery
public import RelayProtocol

/// The updates of phones: pushes that change or remove notifications, set badges, or wake an app.
///
/// A cause only names the notifications and devices that it concerns. ``claim(limit:now:leaseUntil:apps:capacity:)``
/// reads the facts, and ``RelayDelivery/PhonePlanner`` decides. Updates are jobs of the push queue with another kind.
/// Each notification has at most one, and each device has at most one for its badge and its removals. An update is
/// deleted after it was sent.
public struct UpdateQueue: TransactionPart {
  let transaction: Transaction

  /// The maximum number of stored updates of notifications for one device. Beyond it the relay drops the oldest ones,
  /// and removes their notifications if the message was deleted.
  public static let maxUpdates = 100
  /// The updates that are stored in the transaction of the change. All others follow in slices.
  public static let maxUpdatesWithChange = 64
  /// The updates of pending changes that one transaction stores.
  public static let maxUpdateSlice = 256
  /// The maximum number of a user's notifications that one cause removes: the newest ones.
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
    // The position before the first device of the user. A user has fewer devices than a slice.
    let stored = try storeUpdates(
      room, seq, after: Position(user: user, device: ""), limit: Self.maxUpdatesWithChange, only: user)
    precondition(stored.next == nil, "a user has more devices than the limit permits")
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
  private struct Position {
    var user: Int64 = 0
    var device = ""
  }

  /// Stores the updates of the next devices.
  /// - Parameter user: The user whose devices get updates. Is `nil` for all users.
  /// - Returns: The number of updates, and the last device if others may follow.
  private func storeUpdates(
    _ room: Int64, _ seq: Int64, after position: Position, limit: Int, only user: Int64? = nil
  ) throws -> (count: Int, next: Position?) {
    // A phone that did not get a call may show that it was missed.
    let found = try db.all(
      """
      SELECT jobs.user, jobs.device, max(jobs.round), jobs.id, jobs.merged_into
      FROM jobs INDEXED BY jobs_of_message
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq
      JOIN devices ON devices.user = jobs.user AND devices.device = jobs.device
      WHERE jobs.kind = 'push' AND jobs.room = ?1 AND jobs.seq = ?2
        AND (jobs.state IN ('sent', 'sending', 'merged')
          OR jobs.state IN ('expired', 'cancelled') AND messages.push_kind = '\(MessageKind.call.rawValue)')
        AND (jobs.user, jobs.device) > (?3, ?4) AND (?6 IS NULL OR jobs.user = ?6)
      GROUP BY jobs.user, jobs.device ORDER BY jobs.user, jobs.device LIMIT ?5
      """,
      [room, seq, position.user, position.device, limit, user])
    for row in found { try putEntry(of: row["merged_into"] ?? row["id"], due: now) }
    guard found.count == limit, let last = found.last else { return (found.count, nil) }
    return (found.count, Position(user: last["user"], device: last["device"]))
  }

  /// A push was sent. Its notification goes again if the recipient has read the message, left the room or blocked the
  /// sender meanwhile.
  func shown(_ job: String) throws {
    let mustGo = try db.has(
      """
      SELECT 1 FROM jobs
      JOIN rooms ON rooms.id = jobs.room AND NOT (\(Schema.isNotifications("rooms.name")))
      JOIN users ON users.id = jobs.user
      LEFT JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq
      LEFT JOIN users AS sender ON sender.id = messages.sender
      LEFT JOIN members ON members.room = jobs.room AND members.user = jobs.user
      WHERE jobs.id = ? AND (members.user IS NULL OR members.is_withdrawn OR members.read >= jobs.seq
        OR EXISTS (SELECT 1 FROM blocks WHERE blocks.user = jobs.user AND blocks.other = sender.name))
      """,
      [job])
    if mustGo { try putEntry(of: job, due: now) }
  }

  /// A message does not count as unread any more, so the badges may fall of phones that got no push of it.
  func uncounted(_ room: Int64, _ seq: Int64) throws {
    let devices = try db.all(
      """
      SELECT user, device FROM devices
      WHERE user IN (SELECT user FROM members WHERE room = ?1 AND read < ?2 LIMIT \(Self.maxUpdateSlice))
        AND NOT EXISTS (
          SELECT 1 FROM jobs INDEXED BY jobs_message
          WHERE jobs.user = devices.user AND jobs.device = devices.device AND jobs.room = ?1 AND jobs.seq = ?2
            AND jobs.kind = 'push' AND jobs.state IN ('sent', 'sending', 'merged'))
      """,
      [room, seq])
    for row in devices { try touch(row["device"], ofRow: row["user"]) }
  }

  /// Plans the notification of a call again at the end of its ringing.
  func expectEnd(ofCall job: String) throws {
    let end = try db.first(
      """
      SELECT jobs.expires FROM jobs
      JOIN messages ON messages.room = jobs.room AND messages.seq = jobs.seq AND NOT messages.is_deleted
        AND messages.push_kind = '\(MessageKind.call.rawValue)'
      WHERE jobs.id = ? AND jobs.expires IS NOT NULL
      """,
      [job])
    if let end { try putEntry(of: job, due: end.timestamp("expires")) }
  }

  // MARK: Causes about users

  /// The user reads messages. Call this before the read mark is raised.
  public func read(_ room: RoomID, _ user: UserID, upTo seq: Int64) throws {
    guard let known = try row(of: room), let id = try row(of: user) else { return }
    let read = try db.first("SELECT read FROM members WHERE room = ? AND user = ?", [known.id, id])
    guard let mark: Int64 = read?["read"], seq > mark else { return }
    let range: StatementArguments = [known.id, mark, seq]
    let gone = try removeEntries(
      of: id,
      """
      SELECT job.number FROM devices CROSS JOIN jobs AS job INDEXED BY jobs_message
      WHERE devices.user = ?1 AND job.user = ?1 AND job.device = devices.device AND job.room = ?2
        AND job.seq > ?3 AND job.seq <= ?4 AND job.digest IS NULL
      """,
      range)
    for device in Set(gone.map(\.device)) {
      try db.run(
        "DELETE FROM removals WHERE user = ? AND device = ? AND is_read AND room = ?", [id, device, room.rawValue])
      try putRemoval(device, ofRow: id, room: room.rawValue, seq: seq, isRead: true)
    }
    // A digest goes when all its messages are read.
    let heads = try db.all(
      """
      SELECT DISTINCT head.id FROM devices CROSS JOIN jobs AS job INDEXED BY jobs_message
        JOIN jobs AS head ON head.id = coalesce(job.merged_into, job.id) AND head.digest IS NOT NULL
      WHERE devices.user = ?1 AND job.user = ?1 AND job.device = devices.device AND job.room = ?2
        AND job.seq > ?3 AND job.seq <= ?4 AND head.state = 'sent'
      """,
      [id] + range)
    for head in heads where try isRead(head["id"], room: known.id, upTo: seq) {
      try hideEntry(of: head["id"])
    }
    // The badge may count messages without a notification.
    try badgesChanged(of: id)
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
  public func left(_ room: Int64, _ user: Int64) throws {
    try hide(
      of: user,
      """
      SELECT job.number FROM devices CROSS JOIN jobs AS job INDEXED BY jobs_message
      WHERE devices.user = ?1 AND job.user = ?1 AND job.device = devices.device AND job.room = ?2
      """,
      [room])
  }

  /// The rooms have changed that the user may join.
  func withdrawn(from user: Int64) throws {
    let rooms = try db.all(
      "SELECT room FROM members INDEXED BY members_withdrawn WHERE user = ? AND is_withdrawn", [user])
    for row in rooms.prefix(Self.maxUpdates) { try left(row["room"], user) }
    try badgesChanged(of: user)
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
  }

  /// Removes notifications, plans their digests again, and updates the user's badges.
  /// - Parameter jobs: A query of the numbers of jobs of user ?1.
  private func hide(of user: Int64, _ jobs: String, _ arguments: StatementArguments) throws {
    let digests = try db.all(
      """
      SELECT DISTINCT head.id FROM jobs AS job
      JOIN jobs AS head ON head.id = coalesce(job.merged_into, job.id) AND head.digest IS NOT NULL
      WHERE job.user = ?1 AND job.number IN (\(jobs)) AND head.state = 'sent' LIMIT \(Self.maxUpdates)
      """,
      [user] + arguments)
    for head in digests { try putEntry(of: head["id"], due: now) }
    let condition = "SELECT number FROM jobs WHERE number IN (\(jobs)) AND digest IS NULL"
    for entry in try removeEntries(of: user, condition, arguments) {
      try putRemoval(entry.device, ofRow: user, room: entry.room, seq: entry.seq, isRead: false)
    }
    try badgesChanged(of: user)
  }

  private struct GoneEntry {
    let device, room: String
    let seq: Int64
  }

  /// Marks the notifications of jobs that the phones must not show any longer.
  /// - Parameter jobs: A query of the numbers of jobs of user ?1.
  private func removeEntries(
    of user: Int64, _ jobs: String, _ arguments: StatementArguments
  ) throws -> [GoneEntry] {
    try db.all(
      """
      UPDATE jobs SET phone = '\(EntryState.gone.rawValue)' WHERE number IN (
        SELECT number FROM jobs WHERE number IN (\(jobs)) AND user = ?1 AND kind = 'push' AND \(Self.isShown)
        ORDER BY number DESC LIMIT \(Self.maxRemoved))
      RETURNING device, seq, (SELECT \(Schema.knownName("rooms.name")) FROM rooms WHERE rooms.id = jobs.room) AS room
      """,
      [user] + arguments
    ) { GoneEntry(device: $0["device"], room: $0["room"] ?? "", seq: $0["seq"]) }
  }

  /// Removes the notification of one job.
  /// - Returns: Its device, unless the phone shows no such notification.
  @discardableResult
  func hideEntry(of job: String) throws -> [String] {
    guard let owner = try db.first("SELECT user FROM jobs WHERE id = ?", [job]) else { return [] }
    let user: Int64 = owner["user"]
    let gone = try removeEntries(of: user, "SELECT job.number FROM jobs AS job WHERE job.id = ?2", [job])
    for entry in gone {
      try putRemoval(entry.device, ofRow: user, room: entry.room, seq: entry.seq, isRead: false)
      try touch(entry.device, ofRow: user)
    }
    return gone.map(\.device)
  }

  /// A condition on a row of `jobs`: the phone may have its notification, shown or dismissed.
  static let isShown =
    "merged_into IS NULL AND (phone IN ('shown', 'concluded', 'ended') OR phone IS NULL AND state = 'sent')"

  /// The ``EntryState`` of a row of `jobs`.
  static let entryState = """
    coalesce(phone, CASE state WHEN 'sent' THEN '\(EntryState.shown.rawValue)' ELSE '\(EntryState.unsent.rawValue)' END)
    """

  /// The number of a user's unread messages may have changed in another way than by a message.
  public func badgesChanged(of user: UserID) throws {
    if let id = try row(of: user) { try badgesChanged(of: id) }
  }

  func badgesChanged(of user: Int64) throws {
    for row in try db.all("SELECT device FROM devices WHERE user = ?", [user]) { try touch(row["device"], ofRow: user) }
  }

  /// An account has left a phone.
  func badgeChanged(ofToken token: String, platform: String) throws {
    let others = try db.all("SELECT user, device FROM devices WHERE token = ? AND platform = ?", [token, platform])
    for row in others { try touch(row["device"], ofRow: row["user"]) }
  }

  // MARK: Causes about devices

  /// The person has dismissed or opened a notification on its phone, or answered it there.
  func finished(_ job: String) throws {
    try db.run(
      "UPDATE jobs SET phone = '\(EntryState.ended.rawValue)' WHERE id = ? AND \(Self.entryState) IN ('shown', 'concluded')",
      [job])
  }

  /// The phone shows another text in place of a notification.
  func replaced(_ job: String, by text: EntryText) throws {
    try db.run("UPDATE jobs SET phone = ? WHERE id = ?", [text.state.rawValue, job])
    guard text == .deleted else { return }
    // The phone may have been off, so a later sign of life repeats the removal.
    let entry = try db.first(
      """
      SELECT jobs.user, jobs.device, jobs.seq, \(Schema.knownName("rooms.name")) AS room
      FROM jobs JOIN rooms ON rooms.id = jobs.room WHERE jobs.id = ?
      """, [job])
    guard let entry else { return }
    let (user, device): (Int64, String) = (entry["user"], entry["device"])
    try putRemoval(device, ofRow: user, room: entry["room"], seq: entry["seq"], isRead: false)
    try apply(
      .sent, to: "user = ? AND device = ? AND NOT is_read AND room = ? AND seq = ?",
      [user, device, entry["room"] as String, entry["seq"] as Int64])
  }

  /// A sign of life of a device, after which removals are sent again or are done.
  public func alive(_ device: DeviceID, of user: UserID) throws {
    guard let id = try row(of: user) else { return }
    let key: StatementArguments = [id, device.rawValue]
    guard try db.has("SELECT 1 FROM removals WHERE user = ? AND device = ?", key) else { return }
    try apply(.gaveSign, to: "user = ? AND device = ?", key)
    if try hasDueRemovals(of: device.rawValue, ofRow: id) { try touch(device.rawValue, ofRow: id) }
  }

  /// The badge of a device must be sent, because a message gets no other push.
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
    let due = max(now, device.time("woken").map { min($0, now) + PhonePlanner.wakePause } ?? now)
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
    guard let service = try service(of: device, ofRow: user) else { return }
    // An update that is being sent is planned again afterwards.
    try db.run(
      """
      INSERT INTO jobs
        (id, target, user, device, kind, room, seq, due, platform, token, lane, created, round, state, is_next,
          is_notify_anyway, reasons)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \(Self.round), '\(JobState.ready.rawValue)', 1, 0, '[]')
      ON CONFLICT (user, device, room, seq, round) DO UPDATE SET kind = excluded.kind, target = excluded.target,
        due = min(due, excluded.due), is_again = state = 'sending', created = excluded.created, attempts = 0
      """,
      [
        UUID().uuidString.lowercased(), job, user, device, kind.rawValue, room, seq, due.rawValue, service.platform,
        service.token, service.lane.name, max(now, due).rawValue,
      ])
    cache.updates.notify()
  }

  /// The round of all updates, so that a device has one for each message.
  private static let round = 2

  /// The push service of a device.
  private struct Service {
    let platform, token: String
    let lane: Lane
  }

  private func service(of device: String, ofRow user: Int64) throws -> Service? {
    let row = try db.first(
      "SELECT platform, app, token, environment FROM devices WHERE user = ? AND device = ?", [user, device])
    return row.map {
      Service(
        platform: $0["platform"], token: $0["token"],
        lane: Lane($0["platform"], app: $0["app"], token: $0["token"], environment: $0["environment"]).forUpdates)
    }
  }

  private func boundUpdates(of device: String, ofRow user: Int64) throws {
    let condition = "\(Schema.updates) AND user = ? AND device = ? AND kind = 'entry'"
    let count: Int = try db.first("SELECT count(*) FROM jobs WHERE \(condition)", [user, device])?[0] ?? 0
    guard count > Self.maxUpdates else { return }
    let dropped = try db.all(
      """
      DELETE FROM jobs WHERE number IN (
        SELECT number FROM jobs WHERE \(condition) AND state <> 'sending' ORDER BY created, number LIMIT ?)
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
