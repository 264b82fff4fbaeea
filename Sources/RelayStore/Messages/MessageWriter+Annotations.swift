// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import RelayProtocol

/// The annotations of messages. Each kind of a message has one row with its newest change, so that the store keeps a
/// bounded number of changes for each message.
extension MessageWriter {
  /// A message that can be annotated: it is stored and not deleted.
  struct Annotatable {
    let name: RoomID
    let room: WriterCache.Room
    let seq: Int64
  }

  /// Finds a message of the history. Returns `nil` when it is not stored, was deleted, or has left the history.
  /// - Parameter kept: The number of newest messages in the history. The store may still have older ones.
  func annotatable(_ name: RoomID, _ seq: Int64, kept: Int) throws -> Annotatable? {
    guard let room = try row(of: name), seq >= room.start(keeping: kept) else { return nil }
    let isStored = try db.has("SELECT 1 FROM messages WHERE room = ? AND seq = ? AND NOT is_deleted", [room.id, seq])
    return isStored ? Annotatable(name: name, room: room, seq: seq) : nil
  }

  /// Stores a new value of an annotation under the next change number of the room. Returns the number.
  func annotate(_ message: Annotatable, _ annotation: Annotation, at time: Timestamp) throws -> Int64 {
    let known = try countChange(in: message.name)
    try db.run(
      """
      INSERT INTO annotations (room, seq, kind, changed, change, changed_time, value) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (room, seq, kind) DO UPDATE SET changed = excluded.changed, change = excluded.change,
        changed_time = excluded.changed_time, value = excluded.value
      """,
      [
        known.id, message.seq, annotation.kind.rawValue, known.seq, known.change, time.rawValue,
        annotation.value.map { Data($0) },
      ])
    return known.change
  }

  func annotation(_ kind: Annotation.Kind, of message: Annotatable) throws -> [UInt8]? {
    try db.first(
      "SELECT value FROM annotations WHERE room = ? AND seq = ? AND kind = ?",
      [message.room.id, message.seq, kind.rawValue])?.annotation("value")
  }

  /// Deletes the annotations of a message that loses its contents. The change of the message itself is newer.
  func deleteAnnotations(_ room: Int64, _ seq: Int64) throws {
    try db.run("DELETE FROM annotations WHERE room = ? AND seq = ?", [room, seq])
    try db.run("DELETE FROM reactions WHERE room = ? AND seq = ?", [room, seq])
  }

  /// Deletes the annotations of messages below `first` that the store has deleted, and some of their reactions. A
  /// message may have many reactions, so that later calls delete the rest.
  /// - Returns: The newest deleted change, and true if reactions are left.
  func trimAnnotations(of room: Int64, from start: Int64, before first: Int64) throws -> (change: Int64, more: Bool) {
    let deleted = try db.all(
      """
      DELETE FROM annotations WHERE room = ?1 AND seq >= ?2 AND seq < ?3
        AND NOT EXISTS (SELECT 1 FROM messages WHERE room = ?1 AND messages.seq = annotations.seq)
      RETURNING change
      """,
      [room, start, first])
    try db.run(
      """
      DELETE FROM reactions WHERE room = ?1 AND (seq, key, user) IN (
        SELECT seq, key, user FROM reactions AS old WHERE room = ?1 AND seq < ?2
          AND NOT EXISTS (SELECT 1 FROM messages WHERE room = ?1 AND messages.seq = old.seq)
        LIMIT ?3)
      """,
      [room, first, Self.reactionsTrimmedAtOnce])
    let more = db.changesCount == Self.reactionsTrimmedAtOnce
    return (deleted.reduce(0) { max($0, $1["change"]) }, more)
  }

  /// The maximum number of reactions that a trim deletes.
  static let reactionsTrimmedAtOnce = 1_000
}
