// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

extension MessageWriter {
  /// Replaces the body of a message. Later pushes contain the new body, and phones that show the message get an update.
  /// - Parameters:
  ///   - user: The user who must have sent the message. Is `nil` when any sender is allowed.
  ///   - time: The time of the change. Is `nil` for the store's clock.
  ///   - body: Valid JSON.
  ///   - updatesNotifications: False if phones get no update.
  /// - Returns: The result. Is `nil` when the message is not stored.
  public func edit(
    _ room: RoomID, _ seq: Int64, by user: UserID? = nil, at time: Timestamp? = nil, body: [UInt8],
    updatesNotifications: Bool = true
  ) throws -> Edited? {
    try change(room, seq, by: user, at: time ?? now) { room in
      try db.run("UPDATE messages SET body = ? WHERE room = ? AND seq = ?", [Data(body), room, seq])
      if updatesNotifications { try transaction.updates.changed(room, seq) }
    }
  }

  /// Deletes the contents of a message, cancels its pushes, and updates phones that show the message. Its seq stays
  /// used.
  /// - Parameters:
  ///   - user: The user who must have sent the message. Is `nil` when any sender is allowed.
  ///   - moderator: The user who deletes the message. The store keeps the name if another user sent it.
  ///   - time: The time of the change. Is `nil` for the store's clock.
  /// - Returns: The result. Is `nil` when the message is not stored.
  public func delete(
    _ room: RoomID, _ seq: Int64, by user: UserID? = nil, moderator: UserID? = nil, at time: Timestamp? = nil
  ) throws -> Edited? {
    var call: Call?
    let time = time ?? now
    var edited = try change(room, seq, by: user, at: time) { id in
      call = try transaction.calls.deleted(MessageReference(room: room, seq: seq), id, at: time)
      try transaction.updates.changed(id, seq)
      try transaction.updates.uncounted(id, seq)
      try db.run(
        """
        UPDATE messages
        SET is_deleted = 1, is_uncounted = 1, body = x'', mentions = NULL, reply_to = NULL, push = NULL,
          push_kind = NULL, push_category = NULL
        WHERE room = ? AND seq = ?
        """,
        [id, seq])
      try deleteAnnotations(id, seq)
      try transaction.queue.cancelJobs("room = ? AND seq = ?", [id, seq], note: "deleted")
    }
    edited?.call = call
    guard let moderator, let deleted = edited, deleted.isChanged, deleted.from != moderator,
      let id = try row(of: room)?.id
    else { return edited }
    try db.run(
      "UPDATE messages SET moderator = ? WHERE room = ? AND seq = ?", [try needRow(of: moderator), id, seq])
    edited?.moderator = moderator
    return edited
  }

  private func change(
    _ room: RoomID, _ seq: Int64, by user: UserID?, at time: Timestamp, _ change: (_ room: Int64) throws -> Void
  ) throws -> Edited? {
    guard let known = try row(of: room) else { return nil }
    let row = try db.first(
      """
      SELECT users.name, time, is_deleted FROM messages JOIN users ON users.id = sender WHERE room = ? AND seq = ?
      """,
      [known.id, seq])
    guard let row else { return nil }
    let from = UserID(unchecked: row["name"])
    let isDeleted: Bool = row["is_deleted"]
    var edited = Edited(
      from: from, time: row.timestamp("time"), isChanged: !isDeleted && (user == nil || user == from),
      newest: known.seq)
    if edited.isChanged {
      try change(known.id)
      edited.change = try countChange(of: seq, in: room)
      try db.run(
        "UPDATE messages SET changed_time = ? WHERE room = ? AND seq = ?", [time.rawValue, known.id, seq])
      try transaction.inbox.changed(known.id)
    }
    return edited
  }

  /// Gives a message the next change number of its room. Returns the number.
  private func countChange(of seq: Int64, in room: RoomID) throws -> Int64 {
    let known = try countChange(in: room)
    try db.run(
      "UPDATE messages SET changed = ?, change = ? WHERE room = ? AND seq = ?",
      [known.seq, known.change, known.id, seq])
    return known.change
  }

  /// Takes the next change number of a room. Returns the room with this number.
  func countChange(in room: RoomID) throws -> WriterCache.Room {
    guard var known = try row(of: room) else { throw StoreError.noRoom(room) }
    known.change += 1
    try db.run("UPDATE rooms SET change = ? WHERE id = ?", [known.change, known.id])
    cache[room] = known
    return known
  }
}
