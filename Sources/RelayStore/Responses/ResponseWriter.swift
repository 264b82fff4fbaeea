// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// The responses of users to notifications.
///
/// A user has at most one response to a message by an action of its category, and one by each action of the system. So
/// a notification that the user opens or dismisses on one device can still be answered on another.
public struct ResponseWriter: TransactionPart {
  let transaction: Transaction

  /// The maximum number of responses that wait for one sender. Beyond it the store drops the oldest ones, with `open`
  /// and `dismiss` before all others.
  public static let maxPending = 1_000
  /// The time for which a response waits for its sender.
  public static let maxPendingAge = Duration.seconds(28 * 24 * 3600)
  /// The minimum time for which the store keeps a response that its sender has received, so that a repeated response
  /// has no effect.
  static let sentRetention = Duration.seconds(3 * 24 * 3600)

  /// Stores a response. If the message is a call, this ends the call.
  ///
  /// A sender whom the user has blocked does not receive the response.
  /// - Parameter seq: The seq of the message that the text becomes in this transaction. Is `nil` when the text becomes
  ///   no message.
  /// - Returns: The result. Throws ``StoreError/answered`` if the user has responded in another way,
  ///   ``StoreError/noNotification`` and ``StoreError/notMember``.
  public func respond(_ draft: ResponseDraft, posting seq: Int64? = nil) throws -> Responded {
    let found = try db.first(
      """
      SELECT job.room, job.seq, job.user, messages.sender, sender.name AS sender_name, rooms.name AS room_name,
        coalesce(messages.push_kind = '\(MessageKind.call.rawValue)', 0) AS is_call,
        EXISTS (SELECT 1 FROM blocks WHERE blocks.user = job.user AND blocks.other = sender.name) AS is_blocked,
        \(ResponseReader.mayRespond) AS may_respond
      \(ResponseReader.notificationOfUser)
      """,
      [draft.notification, draft.user.rawValue])
    guard let found else { throw StoreError.noNotification }
    guard found["may_respond"] else { throw StoreError.notMember }
    let message: StatementArguments = [found["room"] as Int64, found["seq"] as Int64, found["user"] as Int64]
    var response = StoredResponse(
      id: 0, notification: draft.notification,
      message: MessageReference(room: RoomID(unchecked: found["room_name"]), seq: found["seq"]), user: draft.user,
      sender: UserID(unchecked: found["sender_name"]), action: draft.action, text: draft.text, posted: seq)
    let known = try earlier(than: draft, message)
    // iOS removes a notification that the person opens, dismisses or answers, on each phone.
    try transaction.updates.finished(draft.notification)
    if let known {
      (response.id, response.notification, response.posted) = (known["id"], known["notification"], known["posted"])
      (response.action, response.text) = (ActionID(unchecked: known["action"]), known["text"])
      return Responded(response: response, time: known.timestamp("time"), isDuplicate: true, needsSending: false)
    }
    let isBlocked: Bool = found["is_blocked"]
    try db.run(
      """
      INSERT INTO responses (room, seq, user, notification, sender, action, text, key, posted, time, is_told)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      message + [
        draft.notification, found["sender"] as Int64, draft.action.rawValue, draft.text, draft.key, seq, now.rawValue,
        isBlocked,
      ])
    response.id = db.lastInsertedRowID
    try giveUpOldest(of: found["sender"])
    if found["is_call"] {
      try transaction.queue.cancelJobs("room = ? AND seq = ? AND user = ?", message, note: "answered")
    }
    return Responded(response: response, time: now, needsSending: !isBlocked)
  }

  /// The row of the same response. Is `nil` when there is none. Throws an error if another response excludes this one.
  private func earlier(than draft: ResponseDraft, _ message: StatementArguments) throws -> Row? {
    let rows = try db.all(
      """
      SELECT id, notification, action, text, key, posted, time FROM responses WHERE room = ? AND seq = ? AND user = ?
      """,
      message)
    if let key = draft.key, let same = rows.first(where: { ($0["key"] as String?) == key }) { return same }
    for row in rows {
      let action = ActionID(unchecked: row["action"])
      if action == draft.action, (row["text"] as String?) == draft.text { return row }
      if action == draft.action || !action.isSystem && !draft.action.isSystem { throw StoreError.answered }
    }
    return nil
  }

  private func giveUpOldest(of sender: Int64) throws {
    try db.run(
      """
      UPDATE responses SET is_told = 1 WHERE id IN (
        SELECT id FROM responses WHERE sender = ? AND NOT is_told
        ORDER BY action IN (?, ?), id DESC LIMIT -1 OFFSET ?)
      """,
      [sender, ActionID.open.rawValue, ActionID.dismiss.rawValue, Self.maxPending])
  }

  /// True if the user has responded to the notification of a message.
  func isAnswered(_ room: Int64, _ seq: Int64, by user: Int64) throws -> Bool {
    try db.has("SELECT 1 FROM responses WHERE room = ? AND seq = ? AND user = ?", [room, seq, user])
  }

  /// Records that a sender has received responses.
  /// - Returns: True if more responses wait for this sender.
  public func markSent(_ responses: [Int64], to sender: UserID) throws -> Bool {
    for id in responses { try db.run("UPDATE responses SET is_told = 1 WHERE id = ?", [id]) }
    guard let id = try row(of: sender) else { return false }
    return try db.has("SELECT 1 FROM responses WHERE sender = ? AND NOT is_told", [id])
  }

  /// Deletes old responses, at most ``Transaction/maxPurged`` of each kind: responses that their senders have received,
  /// as soon as the user cannot respond again, and all others after ``maxPendingAge``.
  /// - Returns: True if more may remain.
  @discardableResult
  public func purge() throws -> Bool {
    try db.run(
      """
      DELETE FROM responses WHERE id IN (
        SELECT id FROM responses WHERE is_told = 0 AND time < ? ORDER BY time LIMIT ?)
      """,
      [time(before: Self.maxPendingAge).rawValue, Transaction.maxPurged])
    let unsent = db.changesCount
    try db.run(
      """
      DELETE FROM responses WHERE id IN (
        SELECT id FROM responses AS old WHERE is_told = 1 AND time < ?
          AND NOT EXISTS (
            SELECT 1 FROM jobs INDEXED BY jobs_of_message
            WHERE jobs.kind = 'push' AND jobs.room = old.room AND jobs.seq = old.seq)
        ORDER BY time LIMIT ?)
      """,
      [time(before: Self.sentRetention).rawValue, Transaction.maxPurged])
    return max(unsent, db.changesCount) == Transaction.maxPurged
  }

  /// Replaces the registry of categories. The version stays if the categories are equal.
  /// - Parameters:
  ///   - categories: A JSON array.
  ///   - version: The version to replace. Is `nil` for any version.
  /// - Returns: The version that is now stored. Is `nil` when the stored version is not the one to replace.
  public func setCategories(_ categories: [UInt8], replacing version: Int64?) throws -> Int64? {
    let known = try reader.responses.categories()
    let newest = known?.version ?? 0
    guard version == nil || version == newest else { return nil }
    guard known?.categories != categories else { return newest }
    try db.run(
      """
      INSERT INTO categories (id, version, categories) VALUES (1, ?, ?)
      ON CONFLICT (id) DO UPDATE SET version = excluded.version, categories = excluded.categories
      """,
      [newest + 1, Data(categories)])
    return newest + 1
  }
}
