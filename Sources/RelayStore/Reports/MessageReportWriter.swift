// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Stores the reports of messages, and their ends.
public struct MessageReportWriter: TransactionPart {
  let transaction: Transaction

  /// The maximum number of messages that a user reports within ``window``.
  public static let maxOfUser = 50
  public static let window = Duration.seconds(86_400)
  /// The maximum number of reports of a room. A new report replaces the oldest one that is not open.
  public static let maxOfRoom = 1_000
  /// The maximum number of reports that one transaction deletes.
  public static let maxSlice = 64

  /// Reports a message. A second report of the same message by the same user changes nothing.
  ///
  /// Throws ``RoomRefusal/ownMessage``, ``RoomRefusal/tooManyReports(retryAfter:)`` and ``StoreError/tooMany(_:)``.
  /// - Parameter kept: The number of newest messages in the history. The store may still have older ones.
  /// - Returns: The report, and true if it is new. Is `nil` when the history does not have the message, or it was
  ///   deleted.
  public func add(
    _ reason: String, about message: MessageReference, by user: UserID, kept: Int = .max
  ) throws -> (report: MessageReport, isNew: Bool)? {
    guard let room = try row(of: message.room) else { throw StoreError.noRoom(message.room) }
    let reporter = try needRow(of: user)
    let known = try db.first(
      "SELECT id FROM message_reports WHERE room = ? AND seq = ? AND user = ?", [room.id, message.seq, reporter])
    if let known, let report = try reader.reports.report(known["id"]) { return (report, false) }
    guard try transaction.messages.annotatable(message.room, message.seq, kept: kept) != nil,
      let sent = try db.first(
        "SELECT sender FROM messages WHERE room = ? AND seq = ?", [room.id, message.seq])
    else { return nil }
    let author: Int64 = sent["sender"]
    guard author != reporter else { throw StoreError.refused(.ownMessage) }
    try checkRate(of: reporter)
    try makeSpace(in: room.id)
    try db.run(
      """
      INSERT INTO message_reports (room, seq, user, author, reason, time, steady, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        room.id, message.seq, reporter, author, reason, now.rawValue, steadyNow.rawValue,
        MessageReport.State.open.rawValue,
      ])
    return try reader.reports.report(db.lastInsertedRowID).map { ($0, true) }
  }

  private func checkRate(of reporter: Int64) throws {
    let recent = try db.first(
      """
      SELECT count(*) AS reports, min(steady) AS oldest FROM (
        SELECT steady FROM message_reports INDEXED BY message_reports_user WHERE user = ? ORDER BY id DESC LIMIT ?)
        AS recent
      WHERE steady > ?
      """,
      [reporter, Self.maxOfUser, (steadyNow - Self.window).rawValue])
    guard let recent, recent["reports"] >= Self.maxOfUser else { return }
    let end = (recent.time("oldest") ?? steadyNow) + Self.window
    throw StoreError.refused(.tooManyReports(retryAfter: max(end - steadyNow, .seconds(1))))
  }

  private func makeSpace(in room: Int64) throws {
    let count: Int = try db.first("SELECT count(*) FROM message_reports WHERE room = ?", [room])?[0] ?? 0
    guard count >= Self.maxOfRoom else { return }
    try db.run(
      """
      DELETE FROM message_reports WHERE id = (
        SELECT min(id) FROM message_reports WHERE room = ? AND state IN ('resolved', 'dismissed'))
      """,
      [room])
    if db.changesCount == 0 { throw StoreError.tooMany(.reportsPerRoom) }
  }

  /// Ends a report, or opens it again.
  ///
  /// Throws ``RoomRefusal/noReport``.
  /// - Parameters:
  ///   - user: The moderator. Is `nil` for a backend that acts for nobody.
  ///   - viewer: The moderator if no backend acts for the user. This moderator does not end the reports about the own
  ///     messages.
  public func end(
    _ id: Int64, in room: RoomID, as state: MessageReport.State, by user: UserID?, for viewer: UserID? = nil
  ) throws -> MessageReport {
    guard let known = try reader.reports.report(id), known.message.room == room, known.author != viewer else {
      throw StoreError.refused(.noReport)
    }
    guard known.state != state else { return known }
    let isOpen = state == .open
    try db.run(
      "UPDATE message_reports SET state = ?, closer = ?, closed = ? WHERE id = ?",
      [state.rawValue, isOpen ? nil : try user.map(needRow(of:)), isOpen ? nil : now.rawValue, id])
    guard let ended = try reader.reports.report(id) else { throw StoreError.refused(.noReport) }
    return ended
  }

  /// Deletes reports that were ended long ago, at most ``maxSlice``.
  /// - Returns: True if more may remain.
  @discardableResult
  public func purge() throws -> Bool {
    try db.run(
      """
      DELETE FROM message_reports WHERE id IN (
        SELECT id FROM message_reports WHERE closed IS NOT NULL AND closed < ? ORDER BY closed LIMIT ?)
      """,
      [time(before: MessageReport.retention).rawValue, Self.maxSlice])
    return db.changesCount == Self.maxSlice
  }
}
