// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayJSON
public import RelayProtocol

/// Reactions to messages. Each user has at most one reaction with a key to a message.
extension MessageWriter {
  /// Adds a reaction. Throws ``RoomRefusal/tooManyReactions`` and ``RoomRefusal/tooManyReactionKeys``.
  /// - Parameters:
  ///   - key: Is valid, see ``Reactions/maxKeyLength``.
  ///   - time: The time of the change. Is `nil` for the store's clock.
  ///   - kept: The number of newest messages in the history. The store may still have older ones.
  /// - Returns: The reactions of the message. Is `nil` when the history does not have the message, or it was deleted.
  public func react(
    _ room: RoomID, _ seq: Int64, _ key: String, by user: UserID, at time: Timestamp? = nil, kept: Int = .max
  ) throws -> Annotated? {
    guard let message = try annotatable(room, seq, kept: kept) else { return nil }
    try cleanKeys(of: message)
    let (id, user) = (message.room.id, try needRow(of: user))
    let known = try db.has(
      "SELECT 1 FROM reactions WHERE room = ? AND seq = ? AND key = ? AND user = ?", [id, seq, key, user])
    guard !known else { return try unchanged(message) }
    let counts = try db.first(
      """
      SELECT count(*) AS reactions, count(DISTINCT key) AS keys, coalesce(max(key = ?3), 0) AS has_key
      FROM reactions WHERE room = ?1 AND seq = ?2
      """,
      [id, seq, key])
    guard counts?["reactions"] ?? 0 < Reactions.maxCount else { throw StoreError.refused(.tooManyReactions) }
    guard counts?["has_key"] == true || counts?["keys"] ?? 0 < Reactions.maxKeys else {
      throw StoreError.refused(.tooManyReactionKeys)
    }
    try db.run(
      "INSERT INTO reactions (room, seq, key, user, change) VALUES (?, ?, ?, ?, ?)",
      [id, seq, key, user, message.room.change + 1])
    return try changed(message, at: time ?? now)
  }

  /// Removes a reaction. Nothing changes if there is none.
  /// - Returns: The reactions of the message. Is `nil` when the history does not have the message, or it was deleted.
  public func unreact(
    _ room: RoomID, _ seq: Int64, _ key: String, by user: UserID, at time: Timestamp? = nil, kept: Int = .max
  ) throws -> Annotated? {
    guard let message = try annotatable(room, seq, kept: kept) else { return nil }
    try cleanKeys(of: message)
    guard let user = try row(of: user) else { return try unchanged(message) }
    try db.run(
      "DELETE FROM reactions WHERE room = ? AND seq = ? AND key = ? AND user = ?", [message.room.id, seq, key, user])
    guard db.changesCount > 0 else { return try unchanged(message) }
    return try changed(message, at: time ?? now)
  }

  /// Replaces the keys that are older than the rule for texts of one line, see `String.asLine`. Readers see only the new
  /// keys.
  private func cleanKeys(of message: Annotatable) throws {
    let (id, seq) = (message.room.id, message.seq)
    let keys = try db.all("SELECT DISTINCT key FROM reactions WHERE room = ? AND seq = ?", [id, seq]) {
      $0["key"] as String
    }
    for key in keys where !key.isLine {
      if let line = key.asLine {
        try db.run(
          """
          INSERT INTO reactions (room, seq, key, user, change)
          SELECT room, seq, ?4, user, change FROM reactions WHERE room = ?1 AND seq = ?2 AND key = ?3
          ON CONFLICT DO NOTHING
          """,
          [id, seq, key, line])
      }
      try db.run("DELETE FROM reactions WHERE room = ? AND seq = ? AND key = ?", [id, seq, key])
    }
  }

  private func unchanged(_ message: Annotatable) throws -> Annotated {
    Annotated(value: try annotation(.reactions, of: message), change: nil, newest: message.room.seq)
  }

  private func changed(_ message: Annotatable, at time: Timestamp) throws -> Annotated {
    let value = try reactions(to: message)
    let change = try annotate(message, Annotation(.reactions, value), at: time)
    return Annotated(value: value, change: change, newest: message.room.seq)
  }

  /// The counts and the first users of all keys as JSON, the oldest key first. Is `nil` without reactions.
  private func reactions(to message: Annotatable) throws -> [UInt8]? {
    let rows = try Row.fetchCursor(
      db.cachedStatement(sql: "SELECT key, user FROM reactions WHERE room = ? AND seq = ? ORDER BY change"),
      arguments: [message.room.id, message.seq])
    var keys: [(key: String, count: Int, users: [Int64])] = []
    while let row = try rows.next() {
      let key: String = row["key"]
      let index = keys.firstIndex { $0.key == key } ?? keys.count
      if index == keys.count { keys.append((key, 0, [])) }
      keys[index].count += 1
      if keys[index].users.count < Reactions.maxUsers { keys[index].users.append(row["user"]) }
    }
    guard !keys.isEmpty else { return nil }
    let names = try keys.map { entry in
      try entry.users.compactMap { try db.first("SELECT name FROM users WHERE id = ?", [$0])?[0] as String? }
    }
    return JSONWriter.array(
      zip(keys, names).map { entry, names in
        JSONWriter.object {
          $0["key"] = entry.key
          $0.integer("count", entry.count)
          $0.array("users") { list in names.forEach { list.string($0) } }
        }
      })
  }
}
