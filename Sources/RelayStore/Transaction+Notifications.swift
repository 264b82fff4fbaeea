// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Stores what is pushed to a user without a message of a room, as ``append(_:)`` stores a message.
  /// - Parameters:
  ///   - draft: Its room is that of the user's notifications.
  ///   - epoch: Of that room, if this is its first.
  /// - Returns: How it was stored, and the jobs that it has; of a duplicate those of the first.
  public func post(
    _ draft: MessageDraft, epoch: @autoclosure () -> String
  ) throws -> (stored: Appended, pushes: [DeviceID: String]) {
    precondition(draft.room.isNotifications, "it belongs to no room")
    _ = try createRoom(draft.room, epoch: epoch())
    let stored = try append(draft)
    let rows = try db.all(
      """
      SELECT device, jobs.id FROM jobs JOIN rooms ON rooms.id = jobs.room
      WHERE rooms.name = ? AND jobs.seq = ? ORDER BY jobs.number
      """,
      [draft.room.rawValue, stored.seq])
    let pushes = rows.map { (DeviceID(unchecked: $0[0]), $0[1] as String) }
    return (stored, Dictionary(pushes) { first, _ in first })
  }
}
