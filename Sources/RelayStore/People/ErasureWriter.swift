// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Erases users in slices.
///
/// The begin of an erasure gives the user's row a pseudonym. From then on, no request finds the row by the name, so
/// nothing is added to the row while the slices delete what refers to it. Messages refer to the row, and thereby have
/// the pseudonym at once. Nobody may use the name until the last slice.
///
/// After the last slice, ``Store/rewrite()`` and ``Store/emptyLog()`` remove what is left of deleted rows.
public struct ErasureWriter: TransactionPart {
  let transaction: Transaction

  /// The time for which finished erasures are kept.
  public static let lifetime = Duration.seconds(30 * 86_400)
  /// The maximum number of rows of all users that one slice scans.
  static let maxScanned = 1_000
  /// The maximum number of rows of the user that one slice deletes or changes, in the steps in which most of them
  /// change further rows.
  static let maxChanged = 20
  /// The maximum number of rows that a slice of the other steps changes, and the estimate for all slices. A slice that
  /// deletes messages or memberships may change more: the updates of pushes, and the jobs of the recipients.
  public static let maxRows = 200
  /// The same without the row of the erasure itself.
  static let maxOfUser = maxRows - 1

  /// Begins an erasure. Deletes the profile, the restrictions, the devices and their reports, and the preferences and
  /// blocks of the user.
  /// - Parameters:
  ///   - id: A new id of the erasure.
  ///   - pseudonym: A name that no user has.
  /// - Returns: The erasure. It has another id if one of the user is in progress: then nothing begins.
  public func begin(
    _ id: String, of user: UserID, as pseudonym: UserID, _ messages: MessageErasure
  ) throws -> ErasureRecord {
    try db.run(
      "DELETE FROM erasures WHERE id IN (SELECT id FROM erasures WHERE finished <= ? LIMIT ?)",
      [time(before: Self.lifetime).rawValue, Self.maxChanged])
    if let open = try reader.erasures.open(of: user) { return open }
    let row = try needRow(of: user)
    for device in try db.all("SELECT device FROM devices WHERE user = ?", [row], { $0["device"] as String }) {
      try transaction.devices.remove(device, ofRow: row)
    }
    for table in ["focus", "filters", "blocks"] { try db.run("DELETE FROM \(table) WHERE user = ?", [row]) }
    try db.run("DELETE FROM access WHERE user = ?", [user.rawValue])
    try db.run(
      """
      UPDATE users SET name = ?, display_name = NULL, avatar = NULL, avatar_sha256 = NULL, handle = NULL,
        handle_type = NULL, last_seen = NULL, activity = NULL, changed = NULL, preferences = NULL, grants = NULL,
        status = NULL
      WHERE id = ?
      """,
      [pseudonym.rawValue, row])
    cache[user] = nil
    try deleteNotifications(of: user)
    try db.run(
      "INSERT INTO erasures (id, user, name, pseudonym, messages, step, started) VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        id, row, user.rawValue, pseudonym.rawValue, messages.rawValue, ErasureStep.memberships.rawValue, now.rawValue,
      ])
    return ErasureRecord(id: id, messages: messages, rooms: 0, changed: 0, started: now)
  }

  /// Deletes the room of the user's notifications. ``RoomWriter/sweepDeleted(max:)`` deletes its rows.
  private func deleteNotifications(of user: UserID) throws {
    let room = RoomID.notifications(of: user)
    guard let known = try transaction.row(of: room) else { return }
    try db.run(
      "UPDATE rooms SET name = \(Schema.deletedName), seq = 0, cursor = 0, first = 1 WHERE id = ?", [known.id])
    cache[room] = nil
  }

  /// Performs the next slice of an erasure.
  public func perform(_ id: String) throws -> ErasedSlice {
    let found = try db.first(
      """
      SELECT user, name, pseudonym, messages, step, first, second FROM erasures WHERE id = ? AND finished IS NULL
      """,
      [id]
    ) { row in
      Work(
        id: id, user: row["user"], name: (row["name"] as String?).map(UserID.init(unchecked:)),
        messages: try row.choice("messages"), step: try row.choice("step"), position: (row["first"], row["second"]),
        slice: ErasedSlice(pseudonym: UserID(unchecked: row["pseudonym"])))
    }
    guard var work = found else { return ErasedSlice(pseudonym: UserID(unchecked: ""), isLast: true) }
    work.slice.name = work.name
    guard work.step != .log, let name = work.name else {
      work.slice.isLast = true
      return work.slice
    }
    let isDone = try perform(&work, name)
    if isDone { (work.step, work.position) = (work.step.next, (0, 0)) }
    if work.step == .log { work.slice.isLast = true }
    try db.run(
      """
      UPDATE erasures SET step = ?, first = ?, second = ?, left_rooms = left_rooms + ?,
        changed_messages = changed_messages + ?, name = CASE WHEN ? THEN NULL ELSE name END
      WHERE id = ?
      """,
      [
        work.step.rawValue, work.position.0, work.position.1, work.slice.left.count, work.changed,
        work.slice.isLast, id,
      ])
    return work.slice
  }

  /// Records the end of erasures, when the files have nothing of the users any more.
  public func finish(_ ids: [String]) throws {
    for id in ids {
      try db.run("UPDATE erasures SET finished = ? WHERE id = ? AND finished IS NULL", [now.rawValue, id])
    }
  }

  /// A slice in progress.
  private struct Work {
    let id: String
    let user: Int64
    let name: UserID?
    let messages: MessageErasure
    var step: ErasureStep
    var position: (Int64, Int64)
    var slice: ErasedSlice
    /// The number of changed messages.
    var changed = 0
  }

  /// - Returns: True if the step is done.
  private func perform(_ work: inout Work, _ name: UserID) throws -> Bool {
    switch work.step {
    case .memberships: try endMemberships(&work)
    case .invitations:
      try !transaction.invitations.erase(name, row: work.user, limit: Self.maxChanged, &work.slice.invitations)
    case .rooms: try clearRooms(&work, of: name)
    case .blocks: try endBlocks(&work, of: name)
    case .messages: try clearMessages(&work, of: name)
    case .reactions: try clearReactions(&work)
    case .reports: try clearReports(work.user)
    case .audit: try transaction.audit.replace(name, by: work.slice.pseudonym, rows: Self.maxOfUser)
    case .calls: try clearCalls(&work)
    case .responses:
      try sweep("responses", "id", "0", "user = \(work.user) OR sender = \(work.user)", &work) { id, _ in
        try db.run("DELETE FROM responses WHERE id = ?", [id])
      }
    case .silenced: try clearSilenced(&work)
    case .jobs: try clearJobs(&work, of: name)
    case .creations: try clearCreations(work.user)
    case .deletedRooms: try !transaction.rooms.sweepDeleted()
    case .log: true
    }
  }

  /// Calls `body` for the selected rows of the next slice of a table.
  /// - Returns: True if no row follows.
  private func sweep(
    _ table: String, _ first: String, _ second: String, _ condition: String, _ work: inout Work,
    _ body: (Int64, Int64) throws -> Void
  ) throws -> Bool {
    let slice = try TableSlice(
      db, table, first, second, after: work.position, rows: Self.maxScanned, limit: Self.maxChanged, where: condition)
    for (first, second) in slice.found { try body(first, second) }
    work.position = slice.last
    return slice.isComplete
  }

  // MARK: Rooms

  private func endMemberships(_ work: inout Work) throws -> Bool {
    let found = try db.all(
      """
      SELECT rooms.id, rooms.name FROM members INDEXED BY members_user JOIN rooms ON rooms.id = members.room
      WHERE members.user = ? LIMIT ?
      """,
      [work.user, Self.maxChanged]
    ) { (id: $0["id"] as Int64, room: RoomID(unchecked: $0["name"])) }
    for (id, room) in found {
      guard !room.rawValue.hasPrefix(Schema.deletedPrefix) else {
        try db.run("DELETE FROM members WHERE room = ? AND user = ?", [id, work.user])
        continue
      }
      let left = try transaction.rooms.end(work.slice.pseudonym, room)
      work.slice.left.append(ErasedSlice.Left(room: room, successor: left.successor, calls: left.calls))
      work.slice.invitations.ended += left.invitations.ended
      work.slice.invitations.deletedRooms += left.invitations.deletedRooms
    }
    return found.count < Self.maxChanged
  }

  private func clearRooms(_ work: inout Work, of name: UserID) throws -> Bool {
    let user = work.user
    let slice = try TableSlice(
      db, "rooms", "id", "0", after: work.position, rows: Self.maxScanned, limit: Self.maxScanned, where: "1")
    var left = Self.maxOfUser
    func delete(_ sql: String, _ arguments: StatementArguments) throws {
      try db.run(sql, arguments)
      left -= db.changesCount
    }
    for (room, _) in slice.found {
      // Each of the first three tables has at most one row of the user in a room.
      guard left > 3 else { return false }
      try delete("DELETE FROM bans WHERE room = ? AND user = ?", [room, user])
      try delete("DELETE FROM restrictions WHERE room = ? AND user = ?", [room, user])
      try delete("DELETE FROM directs WHERE room = ?1 AND (low = ?2 OR high = ?2)", [room, name.rawValue])
      try delete(
        """
        DELETE FROM keys WHERE room = ?1 AND user = ?2
          AND key IN (SELECT key FROM keys WHERE room = ?1 AND user = ?2 LIMIT ?3)
        """,
        [room, user, left])
      // The room may have more keys of the user.
      guard left > 0 else { return false }
      work.position = (room, 0)
    }
    work.position = slice.last
    return slice.isComplete
  }

  // MARK: Other users

  private func endBlocks(_ work: inout Work, of name: UserID) throws -> Bool {
    let slice = try TableSlice(
      db, "users", "id", "0", after: work.position, rows: Self.maxScanned, limit: Self.maxScanned, where: "1")
    var left = Self.maxOfUser
    for (user, _) in slice.found {
      guard left > 0 else { return false }
      work.position = (user, 0)
      try db.run("DELETE FROM blocks WHERE user = ? AND other = ?", [user, name.rawValue])
      let wasBlocked = db.changesCount == 1
      guard try forgetPreference(of: user, for: name) || wasBlocked else { continue }
      left -= 1
      guard let row = try db.first("SELECT name FROM users WHERE id = ?", [user]) else { continue }
      work.slice.unblocked.append(UserID(unchecked: row["name"]))
    }
    work.position = slice.last
    return slice.isComplete
  }

  /// Removes a name from the people who break through the quiet hours of a user. Returns false if it is not among them.
  private func forgetPreference(of user: Int64, for name: UserID) throws -> Bool {
    let row = try db.first(
      "SELECT preferences FROM users WHERE id = ? AND instr(preferences, ?)", [user, "\"\(name)\""])
    guard var preferences = try row?.preferences(), preferences.breakThrough.users.contains(name) else { return false }
    let wish = preferences.breakThrough
    preferences.breakThrough = BreakThrough(users: wish.users.filter { $0 != name }, mentions: wish.mentions)
    try db.run("UPDATE users SET preferences = ? WHERE id = ?", [StoredJSON.text(of: preferences), user])
    return true
  }

  // MARK: Messages

  private func clearMessages(_ work: inout Work, of name: UserID) throws -> Bool {
    // Names need no escape in SQL and in JSON.
    let isMentioned = "(mentions IS NOT NULL AND instr(mentions, '\"\(name)\"'))"
    let slice = try TableSlice(
      db, "messages", "room", "seq", after: work.position, rows: Self.maxScanned, limit: Self.maxChanged,
      where: "sender = \(work.user) OR \(isMentioned)")
    for (room, seq) in slice.found {
      let row = try db.first(
        """
        SELECT rooms.name, rooms.seq = messages.seq AS is_newest, sender, is_deleted
        FROM messages JOIN rooms ON rooms.id = messages.room
        WHERE messages.room = ? AND messages.seq = ?
        """,
        [room, seq]
      ) {
        (
          room: RoomID(unchecked: $0["name"]), isNewest: $0["is_newest"] as Bool, sender: $0["sender"] as Int64,
          isDeleted: $0["is_deleted"] as Bool
        )
      }
      // The sweep of deleted rooms deletes these messages.
      guard let row, !row.room.rawValue.hasPrefix(Schema.deletedPrefix) else { continue }
      let isOwn = row.sender == work.user
      if isOwn, row.isNewest {
        try transaction.inbox.changed(room)
        work.slice.listed.insert(row.room)
      }
      if isOwn, work.messages == .delete {
        guard !row.isDeleted, let edited = try transaction.messages.delete(row.room, seq) else { continue }
        work.slice.deleted.append(ErasedSlice.Deleted(room: row.room, seq: seq, edited: edited))
      } else {
        try replaceName(name, by: work.slice.pseudonym, room, seq, isOwn: isOwn)
        work.slice.anonymized.insert(row.room)
      }
      work.changed += 1
    }
    work.position = slice.last
    return slice.isComplete
  }

  /// Replaces a name in the mentions of a message. Deletes the texts of the push that a message of the user requests.
  private func replaceName(
    _ name: UserID, by pseudonym: UserID, _ room: Int64, _ seq: Int64, isOwn: Bool
  ) throws {
    try db.run(
      "UPDATE messages SET mentions = replace(mentions, ?, ?) WHERE room = ? AND seq = ? AND mentions IS NOT NULL",
      ["\"\(name)\"", "\"\(pseudonym)\"", room, seq])
    guard isOwn else { return }
    // A message that asks for no push stays so.
    try db.run(
      "UPDATE messages SET push = NULL WHERE room = ? AND seq = ? AND push <> CAST('false' AS BLOB)", [room, seq])
  }

  /// Removes the reactions of the user. The annotations of the messages also have the name.
  private func clearReactions(_ work: inout Work) throws -> Bool {
    let found = try db.all(
      """
      SELECT rooms.name, room, reactions.seq, key
      FROM reactions INDEXED BY reactions_user JOIN rooms ON rooms.id = room
      WHERE user = ? LIMIT ?
      """,
      [work.user, Self.maxChanged]
    ) {
      (room: RoomID(unchecked: $0["name"]), id: $0["room"] as Int64, seq: $0["seq"] as Int64, key: $0["key"] as String)
    }
    for (room, id, seq, key) in found {
      if let left = try transaction.messages.unreact(room, seq, key, by: work.slice.pseudonym) {
        let message = MessageReference(room: room, seq: seq)
        work.slice.unreacted.append(ErasedSlice.Unreacted(message: message, reactions: left))
      } else {
        // The message has left the history, and nobody reads its reactions any more.
        try transaction.messages.deleteAnnotations(id, seq)
      }
    }
    return found.count < Self.maxChanged
  }

  private func clearReports(_ user: Int64) throws -> Bool {
    var left = Self.maxOfUser
    for column in ["user", "author"] where left > 0 {
      try db.run(
        """
        DELETE FROM message_reports WHERE id IN (
          SELECT id FROM message_reports INDEXED BY message_reports_\(column) WHERE \(column) = ? LIMIT ?)
        """,
        [user, left])
      left -= db.changesCount
    }
    return left > 0
  }

  private func clearCalls(_ work: inout Work) throws -> Bool {
    let user = work.user
    return try sweep("call_parties", "room", "seq", "user = \(user) AND device IS NOT NULL", &work) { room, seq in
      try db.run("UPDATE call_parties SET device = NULL WHERE room = ? AND seq = ? AND user = ?", [room, seq, user])
    }
  }

  private func clearSilenced(_ work: inout Work) throws -> Bool {
    let isOwn = "(user = \(work.user) OR sender = \(work.user))"
    func clear(_ room: Int64, _ seq: Int64) throws {
      try db.run("DELETE FROM silenced WHERE room = ? AND seq = ? AND \(isOwn)", [room, seq])
    }
    let isComplete = try sweep("silenced", "room", "seq", isOwn, &work, clear)
    // The rows of the last message may continue in the next slice, which begins behind this message.
    try clear(work.position.0, work.position.1)
    return isComplete
  }

  // MARK: Pushes

  private func clearJobs(_ work: inout Work, of name: UserID) throws -> Bool {
    let (user, quoted, pseudonym) = (work.user, "\"\(name)\"", "\"\(work.slice.pseudonym)\"")
    let isNamed = ["explanation", "digest"].map { "instr(coalesce(\($0), ''), '\(quoted)')" }.joined(separator: " OR ")
    return try sweep("jobs", "number", "0", "user = \(user) OR \(isNamed)", &work) { number, _ in
      guard try db.has("SELECT 1 FROM jobs WHERE number = ? AND user = ?", [number, user]) else {
        return try db.run(
          """
          UPDATE jobs SET explanation = replace(explanation, ?1, ?2), digest = replace(digest, ?1, ?2) WHERE number = ?3
          """,
          [quoted, pseudonym, number])
      }
      try transaction.queue.abandonJobs("number = ?", [number], .noUser)
      try db.run("DELETE FROM jobs WHERE number = ?", [number])
    }
  }

  private func clearCreations(_ user: Int64) throws -> Bool {
    try db.run(
      "DELETE FROM creations WHERE user = ?1 AND key IN (SELECT key FROM creations WHERE user = ?1 LIMIT ?2)",
      [user, Self.maxOfUser])
    return db.changesCount < Self.maxOfUser
  }
}
