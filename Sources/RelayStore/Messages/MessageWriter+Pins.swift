// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Pinned messages. In a group, moderators and owners pin messages. In a direct room, both people do.
extension MessageWriter {
  /// Pins a message. Nothing changes if it is pinned already.
  ///
  /// Throws ``RoomRefusal/needs(_:)`` and ``RoomRefusal/tooManyPins``.
  /// - Parameter kept: The number of newest messages in the history. The store may still have older ones.
  /// - Returns: The annotation. Is `nil` when the history does not have the message, or it was deleted.
  public func pin(
    _ room: RoomID, _ seq: Int64, by actor: RoomActor, at time: Timestamp? = nil, kept: Int = .max
  ) throws -> Annotated? {
    try checkMayPin(room, actor)
    guard let message = try annotatable(room, seq, kept: kept) else { return nil }
    if let known = try annotation(.pinned, of: message) {
      return Annotated(value: known, change: nil, newest: message.room.seq)
    }
    let count: Int? = try db.first(
      """
      SELECT count(*) FROM annotations INDEXED BY annotations_pinned
      WHERE room = ? AND kind = 'pinned' AND value IS NOT NULL AND seq >= ?
      """,
      [message.room.id, message.room.start(keeping: kept)])?[0]
    guard count ?? 0 < Pins.maxCount else { throw StoreError.refused(.tooManyPins) }
    let time = time ?? now
    return try pinned(Array(String(time.rawValue).utf8), message, at: time)
  }

  /// Ends the pin of a message. Nothing changes if it is not pinned. Throws ``RoomRefusal/needs(_:)``.
  /// - Returns: The annotation. Is `nil` when the history does not have the message, or it was deleted.
  public func unpin(
    _ room: RoomID, _ seq: Int64, by actor: RoomActor, at time: Timestamp? = nil, kept: Int = .max
  ) throws -> Annotated? {
    try checkMayPin(room, actor)
    guard let message = try annotatable(room, seq, kept: kept) else { return nil }
    guard try annotation(.pinned, of: message) != nil else {
      return Annotated(value: nil, change: nil, newest: message.room.seq)
    }
    return try pinned(nil, message, at: time ?? now)
  }

  private func pinned(_ value: [UInt8]?, _ message: Annotatable, at time: Timestamp) throws -> Annotated {
    let change = try annotate(message, Annotation(.pinned, value), at: time)
    return Annotated(value: value, change: change, newest: message.room.seq)
  }

  private func checkMayPin(_ room: RoomID, _ actor: RoomActor) throws {
    guard let known = try row(of: room) else { throw StoreError.noRoom(room) }
    let isDirect = try reader.rooms.details(of: room)?.kind == .direct
    try transaction.rooms.check(actor, has: isDirect ? .member : .moderator, in: known)
  }
}

extension MessageReader {
  /// The pinned messages of a room without mentions and annotations, the newest pin first by the numbers of the changes.
  /// There are at most ``Pins/maxCount``.
  /// - Parameter kept: The number of newest messages in the history. The store may still have older ones.
  public func pins(of room: RoomID, kept: Int = .max) throws -> [StoredMessage] {
    guard let found = try db.first("SELECT id, seq, first FROM rooms WHERE name = ?", [room.rawValue]) else {
      return []
    }
    let first = Retention.firstSeq(keeping: kept, newest: found["seq"], stored: found["first"])
    return try db.all(
      """
      SELECT messages.seq, users.name, messages.time, annotations.changed_time, messages.body
      FROM annotations INDEXED BY annotations_pinned
      CROSS JOIN messages ON messages.room = annotations.room AND messages.seq = annotations.seq
      CROSS JOIN users ON users.id = messages.sender
      WHERE annotations.room = ? AND kind = 'pinned' AND value IS NOT NULL AND annotations.seq >= ?
      ORDER BY annotations.change DESC LIMIT \(Pins.maxCount)
      """,
      [found["id"] as Int64, first]
    ) { row in
      StoredMessage(
        seq: row["seq"], from: UserID(unchecked: row["name"]), time: row.timestamp("time"), body: try row.bytes("body"),
        pinned: row.timestamp("changed_time"))
    }
  }
}
