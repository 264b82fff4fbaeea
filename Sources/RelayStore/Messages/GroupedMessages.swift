// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// Writes the messages of one transaction. Messages that need no savepoint share the updates of their rooms and senders.
///
/// A group has many messages of a room. The seq and the cursor of that room, and the read mark of a sender, are written
/// once for all of them, at the latest right before the commit. Trimming waits until then, too. Belongs to the writer's
/// thread, for one transaction.
struct GroupedMessages {
  private let transaction: Transaction
  private let rows: JournaledRows?
  private let insert: MessageInsert
  private let insertKey, findKey, deleteKey: BoundStatement
  private let updateRoom, updateMember, updateActivity, updateInbox: BoundStatement
  private var db: Database { transaction.db }
  private var cache: WriterCache { transaction.cache }

  /// The error when a part of a message cannot be undone, so that the whole transaction is lost.
  struct UndoFailure: Error { let cause: any Error }

  init(_ transaction: Transaction, _ rows: JournaledRows? = nil) throws {
    self.transaction = transaction
    self.rows = rows
    let db = transaction.db
    insert = try MessageInsert(db)
    // An expired key counts as new.
    insertKey = try BoundStatement(
      db,
      """
      INSERT INTO keys (room, user, key, seq, time, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT (room, user, key) DO UPDATE
        SET seq = excluded.seq, time = excluded.time, expires = excluded.expires WHERE keys.expires <= ?7
      """)
    findKey = try BoundStatement(db, "SELECT seq, time FROM keys WHERE room = ? AND user = ? AND key = ?")
    deleteKey = try BoundStatement(db, "DELETE FROM keys WHERE room = ? AND user = ? AND key = ?")
    updateRoom = try BoundStatement(db, "UPDATE rooms SET seq = ?, cursor = ?, first = ? WHERE id = ?")
    updateMember = try BoundStatement(db, "UPDATE members SET read = ? WHERE room = ? AND user = ?")
    updateActivity = try BoundStatement(db, "UPDATE activity SET position = ?1, changed = ?1 WHERE room = ?2")
    updateInbox = try BoundStatement(db, InboxWriter.updateNewest)
  }

  /// Stores a message, or finds its earlier attempt. ``writeRows()`` writes the changes of other rows.
  ///
  /// A call that throws has changed nothing, unless it throws ``UndoFailure``.
  /// - Returns: `nil` when the message needs ``MessageWriter/append(_:)`` in a savepoint: it has jobs, silenced users
  ///   or a response, its sender has a device, or its room or sender has no row. Nothing has changed then.
  func append(_ draft: MessageDraft) throws -> Appended? {
    guard draft.jobs.isEmpty, draft.silenced.isEmpty, draft.response == nil, draft.call == nil, !draft.hasPhones,
      let room = try transaction.row(of: draft.room), let sender = try transaction.unchangedRow(of: draft.from)
    else { return nil }
    if let first = try first(of: draft, room, sender) { return first }
    let mark = rows?.mark ?? 0
    do {
      return try write(draft, room, sender)
    } catch {
      // The key stays captured, together with its deletion: it may have replaced an expired one.
      rows?.cut(to: mark)
      if let key = draft.key { try forget(key, room, sender, after: error) }
      throw error
    }
  }

  /// Stores a message under the next seq of its room. ``writeRows()`` writes the changes of other rows.
  func write(_ draft: MessageDraft, _ room: WriterCache.Room, _ sender: Int64) throws -> Appended {
    var room = room
    room.seq += 1
    if draft.cursorFollows, room.cursor == room.seq - 1 { room.cursor = room.seq }
    var appended = Appended(seq: room.seq, time: draft.time, epoch: room.epoch)
    appended.quote = try transaction.messages.quote(of: draft, room)
    appended.answered = try transaction.messages.answered(by: draft, room)
    if appended.answered == nil {
      try insert.run(draft, room, sender)
    } else {
      var draft = draft
      draft.mentions.answered = appended.answered
      try insert.run(draft, room, sender)
    }
    cache.defer(room, of: draft, sender: sender)
    return appended
  }

  /// Writes the rows that messages have changed. Call this before any other work reads or changes them.
  func writeRows() throws {
    guard cache.hasDeferred else { return }
    for deferred in cache.deferredRooms.values.sorted(by: { $0.order < $1.order }) {
      var room = deferred.row
      try transaction.messages.trim(&room, to: deferred.retention, added: deferred.added)
      cache[deferred.name] = room
      try updateRoom.bind(1, room.seq)
      try updateRoom.bind(2, room.cursor)
      try updateRoom.bind(3, room.first)
      try updateRoom.bind(4, room.id)
      try updateRoom.run()
      try updateActivity.bind(1, try transaction.inbox.nextPosition())
      try updateActivity.bind(2, room.id)
      try updateActivity.run()
    }
    try updateInbox.bind(1, cache.newestPosition ?? 0)
    try updateInbox.run()
    for (mark, seq) in cache.deferredMarks {
      try updateMember.bind(1, seq)
      try updateMember.bind(2, mark.room)
      try updateMember.bind(3, mark.user)
      try updateMember.run()
    }
    cache.forgetDeferred()
    try transaction.messages.sweepKeys()
  }

  /// The first message with the key of a draft. Is `nil` without a key, and for a new key, which is then stored.
  func first(of draft: MessageDraft, _ room: WriterCache.Room, _ sender: Int64) throws -> Appended? {
    guard let key = draft.key else { return nil }
    let now = transaction.steadyNow
    try bind(insertKey, key, room, sender)
    try insertKey.bind(4, room.seq + 1)
    try insertKey.bind(5, draft.time.rawValue)
    try insertKey.bind(6, (now + MessageDraft.keyLifetime).rawValue)
    try insertKey.bind(7, now.rawValue)
    let mark = rows?.mark ?? 0
    do {
      try insertKey.run()
    } catch {
      rows?.cut(to: mark)
      throw error
    }
    guard db.changesCount == 0 else {
      cache.countKey(at: now)
      return nil
    }
    try bind(findKey, key, room, sender)
    var first = try findKey.first { row in
      Appended(seq: row[0], time: Timestamp(rawValue: row[1]), epoch: room.epoch, isDuplicate: true)
    }
    first?.quote = try transaction.messages.quote(of: draft, room)
    return first
  }

  private func forget(_ key: String, _ room: WriterCache.Room, _ sender: Int64, after error: any Error) throws {
    // After some disk errors SQLite rolls back the whole transaction.
    guard db.isInsideTransaction else { return }
    do {
      try bind(deleteKey, key, room, sender)
      try deleteKey.run()
    } catch _ {
      throw UndoFailure(cause: error)
    }
  }

  private func bind(_ statement: BoundStatement, _ key: String, _ room: WriterCache.Room, _ sender: Int64) throws {
    try statement.bind(1, room.id)
    try statement.bind(2, sender)
    try statement.bind(3, key)
  }
}
