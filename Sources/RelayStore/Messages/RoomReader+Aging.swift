// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

extension RoomReader {
  /// A room that may have messages beyond its retention.
  public struct Aging: Equatable, Sendable {
    public let room: RoomID
    /// The number of messages in the history.
    public let count: Int64
    /// The time of the oldest of these messages. Is `nil` when there are none.
    public let oldest: Timestamp?
    /// True if messages before the history are stored that no push needs any more, or reactions to deleted messages.
    public let hasLeftovers: Bool
    /// True if the room has no members and no invitations, and never had a message.
    public let isUnused: Bool

    /// True if there is enough to trim for a transaction.
    /// - Parameter now: The present time. Is `nil` while deletion by age waits.
    public func isDue(_ retention: Retention, now: Timestamp?) -> Bool {
      if hasLeftovers || count - Int64(clamping: retention.count) >= MessageWriter.trimmedAtOnce { return true }
      guard count > 0, retention.count > 0 else { return count > 0 }
      guard let age = retention.age, let oldest, let now, count > retention.minimum else { return false }
      return oldest < now - age
    }
  }

  /// A page of all rooms after the row `after`, in the order of their rows, and the start of the next page. The start
  /// is `nil` on the last page.
  public func aging(after: Int64, limit: Int) throws -> (rooms: [Aging], next: Int64?) {
    let rows = try db.all(
      """
      SELECT id, name, seq - first + 1 AS count,
        (SELECT time FROM messages WHERE room = rooms.id AND seq >= first ORDER BY seq LIMIT 1) AS oldest,
        EXISTS (
          SELECT 1 FROM messages AS old
          WHERE room = rooms.id AND seq < first AND NOT \(Schema.isNeeded("old")))
        OR EXISTS (
          SELECT 1 FROM reactions AS old WHERE room = rooms.id AND seq < first
            AND NOT EXISTS (SELECT 1 FROM messages WHERE room = rooms.id AND messages.seq = old.seq)
        ) AS has_leftovers,
        seq = 0 AND NOT EXISTS (SELECT 1 FROM members WHERE room = rooms.id)
          AND NOT EXISTS (SELECT 1 FROM invitations WHERE room = rooms.id) AS is_unused
      FROM rooms WHERE id > ? AND NOT (\(Schema.isDeleted("name"))) ORDER BY id LIMIT ?
      """,
      [after, limit])
    let rooms = rows.map { row in
      Aging(
        room: RoomID(unchecked: row["name"]), count: row["count"], oldest: row.time("oldest"),
        hasLeftovers: row["has_leftovers"], isUnused: row["is_unused"])
    }
    return (rooms, rows.count < limit ? nil : rows.last?["id"])
  }
}
