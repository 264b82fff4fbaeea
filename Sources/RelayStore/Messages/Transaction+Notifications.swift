// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension Transaction {
  /// Stores a notification, which belongs to no room that users join, as ``append(_:)`` stores a message.
  /// - Parameters:
  ///   - draft: A message of the room of the user's notifications.
  ///   - epoch: The epoch of that room, if this is its first notification.
  /// - Returns: The stored notification and its jobs. For a duplicate these are the jobs of the first notification.
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
    let pushes = rows.map { (DeviceID(unchecked: $0["device"]), $0["id"] as String) }
    return (stored, Dictionary(pushes) { first, _ in first })
  }
}
