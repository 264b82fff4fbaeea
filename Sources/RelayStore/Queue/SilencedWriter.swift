// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayDelivery
public import RelayProtocol

/// The result of a Notify Anyway.
public enum Notified: Equatable, Sendable {
  /// The named users who were silenced when the message was sent and are notified for the first time.
  case users([UserID])
  /// Another user sent the message.
  case notSender
  /// ``SilencedWriter/notifyWindow`` is over.
  case tooLate
  /// The sender has notified one of them ``SilencedWriter/maxNotified`` times within
  /// ``SilencedWriter/notifyRateWindow``. No user was notified. The sender may try again after this time.
  case tooMany(retryAfter: Duration)
}

/// Notify Anyway: the users who were silenced when a message was sent, and their jobs.
///
/// The times of the table are those of the clock for keys (``Transaction/steadyNow``).
public struct SilencedWriter: TransactionPart {
  let transaction: Transaction

  /// The time after a message in which its sender may notify anyway.
  public static let notifyWindow = Duration.seconds(600)
  public static let notifyRateWindow = Duration.seconds(60)
  /// The maximum number of notifications from one sender to one recipient within ``notifyRateWindow``.
  public static let maxNotified = 5

  /// Records that the sender of a message notifies users who were silenced when it was sent. The caller passes the
  /// pushes for these users to ``PushQueue/insert(_:room:seq:)`` in the same transaction.
  /// - Parameter users: Is `nil` for all silenced users.
  /// - Returns: The result. Is `nil` when the message is not stored, or was deleted.
  public func notify(_ room: RoomID, _ seq: Int64, by sender: UserID, users: [UserID]? = nil) throws -> Notified? {
    guard let known = try row(of: room) else { return nil }
    let message = try db.first(
      """
      SELECT users.id, users.name, time FROM messages JOIN users ON users.id = sender
      WHERE room = ? AND seq = ? AND NOT is_deleted
      """,
      [known.id, seq])
    guard let message else { return nil }
    guard message["name"] == sender.rawValue else { return .notSender }
    guard try isInWindow(known.id, seq, sent: message.timestamp("time")) else { return .tooLate }
    let named = try db.all(
      """
      SELECT users.id, users.name FROM silenced JOIN users ON users.id = silenced.user
      WHERE room = ?1 AND seq = ?2 AND notified IS NULL
        AND (?3 IS NULL OR users.name IN (SELECT value FROM json_each(?3))) ORDER BY users.name
      """,
      [known.id, seq, users?.asJSON])
    let delays = try named.compactMap { try delay(from: message["id"], to: $0["id"]) }
    if let longest = delays.max() { return .tooMany(retryAfter: longest) }
    for user in named {
      try db.run(
        "UPDATE silenced SET notified = ? WHERE room = ? AND seq = ? AND user = ?",
        [steadyNow.rawValue, known.id, seq, user["id"] as Int64])
    }
    return .users(named.map { UserID(unchecked: $0["name"]) })
  }

  /// True if the sender of a message may still notify.
  /// - Parameter sent: The wall time of the message. It decides for a message without silenced users, for which the
  ///   table has no time. Nobody is notified of such a message, so that only the reply depends on it.
  private func isInWindow(_ room: Int64, _ seq: Int64, sent: Timestamp) throws -> Bool {
    let silenced = try db.first("SELECT time FROM silenced WHERE room = ? AND seq = ? LIMIT 1", [room, seq])
    guard let silenced else { return transaction.clock.hasShown(sent, within: Self.notifyWindow) }
    return steadyNow < silenced.timestamp("time") + Self.notifyWindow
  }

  /// The time until the sender may notify the recipient again. Is `nil` when it may do so now.
  private func delay(from sender: Int64, to user: Int64) throws -> Duration? {
    let oldest = try db.first(
      """
      SELECT notified FROM silenced WHERE sender = ? AND user = ? AND notified > ? ORDER BY notified DESC LIMIT 1 OFFSET ?
      """,
      [sender, user, (steadyNow - Self.notifyRateWindow).rawValue, Self.maxNotified - 1])
    return oldest.map { $0.timestamp("notified") + Self.notifyRateWindow - steadyNow }
  }

  func remember(_ silenced: [UserID], _ room: WriterCache.Room, seq: Int64, _ sender: Int64) throws {
    try db.run(
      """
      INSERT INTO silenced (room, seq, user, sender, time)
      SELECT ?, ?, id, ?, ? FROM users WHERE name IN (SELECT value FROM json_each(?))
      """,
      [room.id, seq, sender, steadyNow.rawValue, silenced.asJSON])
    // Deletes more rows than were added, so that the table stays small and no message waits long for the purge.
    try purge(max: 2 * silenced.count)
  }

  /// Deletes silenced users that the sender of their message cannot notify any more, at most `max`.
  /// - Returns: The number of deleted rows.
  @discardableResult
  public func purge(max: Int = Transaction.maxPurged) throws -> Int {
    // A notification at the end of the window still counts for the rate.
    let end = steadyNow - (Self.notifyWindow + Self.notifyRateWindow)
    try db.run(
      """
      DELETE FROM silenced WHERE (room, seq, user) IN
        (SELECT room, seq, user FROM silenced WHERE time <= ? ORDER BY time LIMIT ?)
      """,
      [end.rawValue, max])
    return db.changesCount
  }

  /// Stores a job that notifies anyway.
  func insert(_ push: PlannedPush, _ queue: JobQueue, seq: Int64, now: Timestamp) throws -> String? {
    let known = try db.all(
      """
      SELECT \(StoredJob.columns) FROM jobs
      WHERE user = ? AND device = ? AND room = ? AND seq = ? AND kind = 'push' ORDER BY round
      """,
      [queue.user, queue.device, queue.room, seq], StoredJob.init(_:))
    guard let first = known.first else { return try transaction.queue.insert(push, queue, seq: seq, now: now) }
    guard known.count == 1, !first.isNotifyAnyway else { return nil }
    let head = try first.mergedInto.flatMap { try transaction.queue.storedJob($0) }
    let hasLeft = !first.isOpen || head.map { !$0.isOpen || $0.isUnknown } ?? (first.isDigest && first.isUnknown)
    guard !hasLeft else {
      let target = (first.state == .merged ? head : nil)?.target ?? first.collapse
      return try transaction.queue.insert(push, queue, seq: seq, round: 1, collapse: target, now: now)
    }
    try notifyAnyway(first, as: push)
    return first.id
  }

  /// Makes a job that was not sent yet notify anyway. The job leaves its digest, because the other messages do not
  /// notify anyway.
  private func notifyAnyway(_ known: StoredJob, as push: PlannedPush) throws {
    if known.isDigest { try transaction.digests.split(known) }
    try db.run(
      "UPDATE jobs SET is_notify_anyway = 1, level = ?, explanation = ? WHERE number = ?",
      [push.level?.rawValue, StoredJSON.text(of: push.explanation), known.number])
    switch known.state {
    case .merged:
      try transaction.digests.separate(known, on: .released, due: now)
      try transaction.queue.promote(in: known.queue)
    // The gateway has set the time of the next attempt.
    case .retrying: break
    default: try transaction.queue.release(known)
    }
  }
}
