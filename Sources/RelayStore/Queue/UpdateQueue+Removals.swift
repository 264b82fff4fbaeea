// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

/// The notifications that phones must remove, until the phones have confirmed that. ``RelayDelivery/RemovalState`` has
/// the states of a removal.
extension UpdateQueue {
  /// The maximum number of open removals of a device. Beyond it the relay drops the oldest ones.
  public static let maxRemovals = 256
  /// The time for which a removal stays open without a confirmation.
  public static let removalAge = Duration.seconds(3 * 24 * 3600)

  /// Stores the removal of one notification.
  func putRemoval(
    _ device: String, ofRow user: Int64, _ entry: MessageReference, _ state: RemovalState = .due
  ) throws {
    try put(device, ofRow: user, entry, isRead: false, state)
  }

  /// Stores a read position of a device. It replaces the earlier one of the room.
  func putRead(_ device: String, ofRow user: Int64, upTo mark: MessageReference) throws {
    try db.run(
      "DELETE FROM removals WHERE user = ? AND device = ? AND is_read AND room = ?", [user, device, mark.room.rawValue])
    try put(device, ofRow: user, mark, isRead: true, .due)
  }

  private func put(
    _ device: String, ofRow user: Int64, _ message: MessageReference, isRead: Bool, _ state: RemovalState
  ) throws {
    // A phone knows a notification by its message, and one without a room has none.
    guard !message.room.isNotifications else { return }
    // A removal that exists gets a new number, because it is the newest one now.
    try db.run(
      "INSERT OR REPLACE INTO removals (user, device, is_read, room, seq, state, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
      [user, device, isRead, message.room.rawValue, message.seq, state.rawValue, now.rawValue])
  }

  /// Forgets the removals of earlier notifications of invitations to a room.
  func forgetRemovals(of user: UserID, ofInvitationTo room: Int64, seq: Int) throws {
    guard let id = try row(of: user) else { return }
    try db.run(
      "DELETE FROM removals WHERE user = ? AND NOT is_read AND room = (SELECT name FROM rooms WHERE id = ?) AND seq = ?",
      [id, room, seq])
  }

  /// Drops the oldest removals of a device beyond ``maxRemovals``.
  func boundRemovals(of device: String, ofRow user: Int64) throws {
    try db.run(
      """
      DELETE FROM removals WHERE number IN (
        SELECT number FROM removals WHERE user = ?1 AND device = ?2
        ORDER BY number DESC LIMIT -1 OFFSET \(Self.maxRemovals))
      """,
      [user, device])
  }

  /// A condition on a row of `removals`: the relay must send it.
  static let isRemovalDue =
    "removals.state IN ('\(RemovalState.due.rawValue)', '\(RemovalState.dueAgain.rawValue)')"

  func hasDueRemovals(of device: String, ofRow user: Int64) throws -> Bool {
    try db.has("SELECT 1 FROM removals WHERE user = ? AND device = ? AND \(Self.isRemovalDue)", [user, device])
  }

  /// The open removals of a device, as many as fit into a push. Those that must be sent are the first, then the newest.
  func openRemovals(of device: String, ofRow user: Int64) throws -> Removals {
    let rows = try db.all(
      """
      SELECT is_read, room, seq FROM removals WHERE user = ? AND device = ?
      ORDER BY \(Self.isRemovalDue) DESC, number DESC LIMIT \(Removals.maxCount)
      """,
      [user, device])
    var removals = Removals()
    for row in rows {
      removals.add(MessageReference(room: RoomID(unchecked: row["room"]), seq: row["seq"]), isRead: row["is_read"])
    }
    return removals
  }

  /// A push with removals was sent to a device.
  public func sent(_ removals: Removals, to device: DeviceID, of user: UserID) throws {
    guard !removals.isEmpty, let id = try row(of: user) else { return }
    for (isRead, list) in [(true, removals.read), (false, removals.removed)] {
      for message in list {
        try apply(
          .sent, to: "user = ? AND device = ? AND is_read = ? AND room = ? AND seq = ?",
          [id, device.rawValue, isRead, message.room.rawValue, message.seq])
      }
    }
  }

  /// Applies an event to removals, and deletes those that are done.
  func apply(_ event: RemovalEvent, to condition: String, _ arguments: StatementArguments) throws {
    let transitions = RemovalState.allCases.compactMap { state in
      state.next(on: event).map { "WHEN '\(state.rawValue)' THEN '\($0.rawValue)'" }
    }
    try db.run(
      "UPDATE removals SET state = CASE state \(transitions.joined(separator: " ")) ELSE state END WHERE \(condition)",
      arguments)
    try db.run("DELETE FROM removals WHERE \(condition) AND state = '\(RemovalState.done.rawValue)'", arguments)
  }

  /// Deletes removals that are older than ``removalAge``, at most ``Transaction/maxPurged``.
  /// - Returns: True if more may remain.
  public func purgeRemovals() throws -> Bool {
    try db.run(
      """
      DELETE FROM removals WHERE number IN (
        SELECT number FROM removals WHERE created < ? ORDER BY created LIMIT ?)
      """,
      [time(before: Self.removalAge).rawValue, Transaction.maxPurged])
    return db.changesCount == Transaction.maxPurged
  }
}
