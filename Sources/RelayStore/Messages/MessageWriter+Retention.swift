// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Trims the history of rooms.
///
/// A room's history begins at its `first`, which only rises. The store deletes older messages, except those that the
/// payloads of unfinished push jobs need. It keeps all messages above the cursor, because a restart decides them again.
extension MessageWriter {
  /// The number of messages by which a busy room is trimmed at once, so that most messages cost no deletion.
  static let trimmedAtOnce: Int64 = 64

  /// The result of ``trim(_:to:maxDeleted:)``.
  public struct Trimmed: Equatable, Sendable {
    /// The oldest message of the history.
    public var first: Int64
    /// The number of deleted messages.
    public var deleted: Int
    /// True if a further call has more to delete.
    public var more: Bool
  }

  /// Deletes messages beyond the room's retention, at most `maxDeleted`. Returns `nil` if there is no such room.
  public func trim(_ room: RoomID, to retention: Retention, maxDeleted: Int) throws -> Trimmed? {
    guard var known = try row(of: room) else { return nil }
    let bound = known.first + Int64(maxDeleted)
    var first = known.firstToKeep(retention) ?? known.first
    if let age = retention.age {
      let old = try firstNot(before: time(before: age), known, upTo: bound)
      first = max(first, min(old, known.cursor + 1, known.start(keeping: retention.minimum)))
    }
    let goal = max(known.first, min(first, bound))
    let (deleted, hasReactions) = try trim(&known, from: 0, to: goal, max: maxDeleted)
    try db.run("UPDATE rooms SET first = ? WHERE id = ?", [known.first, known.id])
    cache[room] = known
    let more = goal == bound || deleted == maxDeleted || hasReactions
    return Trimmed(first: known.first, deleted: deleted, more: more)
  }

  /// Trims a room after new messages, when at least ``trimmedAtOnce`` messages are beyond the retention. The caller
  /// stores the room's `first`.
  /// - Parameter added: The number of new messages. At most twice as many are deleted, so that no transaction takes
  ///   long.
  func trim(_ room: inout WriterCache.Room, to retention: Retention, added: Int64) throws {
    guard let first = room.firstToKeep(retention), first - room.first >= Self.trimmedAtOnce else { return }
    try trim(&room, from: room.first, to: min(first, room.first + 2 * max(Self.trimmedAtOnce, added)))
  }

  /// Moves the room's `first`, and deletes the messages from `start` up to it that no push needs. The caller stores
  /// `first`.
  /// - Returns: The number of deleted messages, and true if their reactions are not all deleted.
  @discardableResult
  func trim(
    _ room: inout WriterCache.Room, from start: Int64, to first: Int64, max: Int = .max
  ) throws -> (deleted: Int, hasReactions: Bool) {
    room.first = first
    let deleted = try db.all(
      """
      DELETE FROM messages WHERE room = ?1 AND seq IN (
        SELECT seq FROM messages AS old
        WHERE room = ?1 AND seq >= ?2 AND seq < ?3 AND NOT \(Schema.isNeeded("old")) ORDER BY seq LIMIT ?4)
      RETURNING change
      """,
      [room.id, start, first, max])
    // The rows of these changes are gone, so a client that lacks one must load the history again.
    let annotations = try trimAnnotations(of: room.id, from: start, before: first)
    let forgotten = deleted.reduce(Swift.max(room.forgotten, annotations.change)) {
      Swift.max($0, $1["change"] as Int64? ?? 0)
    }
    if forgotten > room.forgotten {
      room.forgotten = forgotten
      try db.run("UPDATE rooms SET forgotten = ? WHERE id = ?", [forgotten, room.id])
    }
    return (deleted.count, annotations.more)
  }

  /// The oldest message of the history whose time is not before `time`. Searches only below `bound`.
  private func firstNot(before time: Timestamp, _ room: WriterCache.Room, upTo bound: Int64) throws -> Int64 {
    let row = try db.first(
      "SELECT seq FROM messages WHERE room = ? AND seq >= ? AND seq < ? AND time >= ? ORDER BY seq LIMIT 1",
      [room.id, room.first, bound, time.rawValue])
    return row?[0] ?? min(bound, room.seq + 1)
  }
}

extension WriterCache.Room {
  /// The new start of the history by its count. Is `nil` when the start does not move.
  func firstToKeep(_ retention: Retention) -> Int64? {
    let oldest = Retention.firstSeq(keeping: retention.count, newest: seq)
    guard oldest > first else { return nil }
    return max(first, min(oldest, cursor + 1))
  }

  /// The start of a history of the `kept` newest messages. The store may still have older ones.
  func start(keeping kept: Int) -> Int64 { Retention.firstSeq(keeping: kept, newest: seq, stored: first) }
}
