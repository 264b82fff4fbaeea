// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayDelivery
public import RelayProtocol

/// Reads messages and the counts of unread ones.
public struct MessageReader {
  let db: Database

  /// The oldest messages above `seq`, in ascending order. `more` is true if newer messages follow, up to `newest`. Is
  /// `nil` when the room does not exist.
  /// - Parameters:
  ///   - newest: The newest message that the page may contain.
  ///   - kept: The number of newest messages that count as the history, even if older ones are still stored.
  ///   - maxBytes: The maximum of all bodies together, in bytes. Beyond it the page has no messages, and `exceeds` is
  ///     true.
  ///   - pageBytes: The maximum of all bodies in the page, in bytes. The page then ends early, and `more` is true. It
  ///     has at least one message. The maximum also applies to the bodies of the quoted messages.
  ///   - quoting: The parts of the messages that replies answer.
  public func page(
    _ room: RoomID, after seq: Int64, upTo newest: Int64 = .max, limit: Int, kept: Int = .max, maxBytes: Int? = nil,
    pageBytes: Int = .max, quoting: QuotedParts = .preview
  ) throws -> MessagePage? {
    try read(
      room,
      """
      SELECT \(StoredMessage.columns) FROM messages JOIN users AS sender ON sender.id = messages.sender
      WHERE room = ?1 AND seq > max(?3, ?2 - 1) AND seq <= ?4 ORDER BY seq
      """,
      [seq, newest], limit: limit, kept: kept, maxBytes: maxBytes, pageBytes: pageBytes, quoting)
  }

  /// The newest messages below `seq`, or of all messages, in ascending order. `more` is true if older messages precede.
  /// Is `nil` when the room does not exist.
  /// - Parameters:
  ///   - kept: The number of newest messages that count as the history, even if older ones are still stored.
  ///   - maxBytes: The maximum of all bodies together, in bytes. Beyond it the page has no messages, and `exceeds` is
  ///     true.
  ///   - pageBytes: The maximum of all bodies in the page, in bytes. The page then ends early, and `more` is true. It
  ///     has at least one message. The maximum also applies to the bodies of the quoted messages.
  ///   - quoting: The parts of the messages that replies answer.
  public func page(
    _ room: RoomID, before seq: Int64?, limit: Int, kept: Int = .max, maxBytes: Int? = nil, pageBytes: Int = .max,
    quoting: QuotedParts = .preview
  ) throws -> MessagePage? {
    var page = try read(
      room,
      """
      SELECT \(StoredMessage.columns) FROM messages JOIN users AS sender ON sender.id = messages.sender
      WHERE room = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq DESC
      """,
      [seq ?? .max], limit: limit, kept: kept, maxBytes: maxBytes, pageBytes: pageBytes, quoting)
    page?.messages.reverse()
    return page
  }

  /// The messages up to `seq` that may have changed since a client received the message `seq` as its newest, in
  /// ascending order.
  ///
  /// The store records each change with the room's newest seq at that time. A client with a newer message has received
  /// the change before that message. So no clocks are compared.
  /// - Parameters:
  ///   - kept: The history is this many of the newest messages.
  ///   - limit: The maximum number of messages.
  ///   - maxBytes: The maximum size of all their bodies, in bytes.
  /// - Returns: `nil` when the room does not exist, or when a maximum is exceeded.
  public func changes(
    _ room: RoomID, upTo seq: Int64, kept: Int = .max, limit: Int, maxBytes: Int
  ) throws -> [ChangedMessage]? {
    let found = try db.first("SELECT id, seq, first FROM rooms WHERE name = ?", [room.rawValue])
    guard let found else { return nil }
    let newest: Int64 = found["seq"]
    let first = Retention.firstSeq(keeping: kept, newest: newest, stored: found["first"])
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT seq, change, changed_time, is_deleted, body, NULL AS kind, \(Self.moderator)
          FROM messages INDEXED BY messages_changed
          WHERE room = ?1 AND changed IS NOT NULL AND changed >= ?2 AND seq <= ?2 AND seq >= ?3
          UNION ALL
          SELECT seq, change, changed_time, 0, value, kind, NULL FROM annotations INDEXED BY annotations_changed
          WHERE room = ?1 AND changed >= ?2 AND seq <= ?2 AND seq >= ?3
          """), arguments: [found["id"] as Int64, seq, first])
    var changes: [ChangedMessage] = []
    var bytes = 0
    while let row = try rows.next() {
      let changed = try ChangedMessage(row)
      changes.append(changed)
      bytes += changed.size
      guard changes.count <= limit, bytes <= maxBytes else { return nil }
    }
    return changes.sorted { ($0.seq, $0.change) < ($1.seq, $1.change) }
  }

  /// The messages up to `seq` with a change after `change`, in the order of their newest changes.
  ///
  /// Each message has only its newest change of its body, and of each kind of ``Annotation``. So the store keeps a
  /// bounded number of changes for each message.
  /// - Parameters:
  ///   - change: The newest change that the client has.
  ///   - kept: The history is this many of the newest messages.
  ///   - limit: The maximum number of messages.
  ///   - maxBytes: The maximum size of all their bodies, in bytes.
  /// - Returns: `nil` when the list would be incomplete: a maximum is exceeded, a changed message is no longer in the
  ///   history, or the room does not exist.
  public func changes(
    _ room: RoomID, upTo seq: Int64, after change: Int64, kept: Int = .max, limit: Int, maxBytes: Int
  ) throws -> [ChangedMessage]? {
    let found = try db.first("SELECT id, seq, first, change, forgotten FROM rooms WHERE name = ?", [room.rawValue])
    guard let found, change >= found["forgotten"], change <= found["change"] else { return nil }
    let newest: Int64 = found["seq"]
    let first = Retention.firstSeq(keeping: kept, newest: newest, stored: found["first"])
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT seq, change, changed_time, is_deleted, body, NULL AS kind, \(Self.moderator)
          FROM messages INDEXED BY messages_change WHERE room = ?1 AND change IS NOT NULL AND change > ?2
          UNION ALL
          SELECT seq, change, changed_time, 0, value, kind, NULL
          FROM annotations INDEXED BY annotations_change WHERE room = ?1 AND change > ?2
          ORDER BY change
          """), arguments: [found["id"] as Int64, change])
    var changes: [ChangedMessage] = []
    var bytes = 0
    var count = 0
    while let row = try rows.next() {
      count += 1
      // The limit also applies to messages above `seq`, which the client receives in their newest state.
      guard count <= limit, row["seq"] >= first else { return nil }
      guard row["seq"] <= seq else { continue }
      let changed = try ChangedMessage(row)
      bytes += changed.size
      guard bytes <= maxBytes else { return nil }
      changes.append(changed)
    }
    return changes
  }

  /// A stored message, in the history or kept for a push. Is `nil` when it is not stored.
  public func message(_ room: RoomID, _ seq: Int64) throws -> StoredMessage? {
    try db.first(
      """
      SELECT \(StoredMessage.columns) FROM messages JOIN users AS sender ON sender.id = messages.sender
      WHERE room = (SELECT id FROM rooms WHERE name = ?) AND seq = ?
      """,
      [room.rawValue, seq], StoredMessage.init(_:))
  }

  /// The messages above the room's cursor, without their bodies, for decisions. The oldest is the first.
  public func undecided(in room: RoomID) throws -> [MessageHead] {
    try db.all(
      """
      SELECT \(MessageHead.columns) FROM rooms
      JOIN messages ON messages.room = rooms.id AND messages.seq > rooms.cursor
      JOIN users AS sender ON sender.id = messages.sender
      WHERE rooms.name = ? ORDER BY messages.seq
      """,
      [room.rawValue], MessageHead.init(_:))
  }

  /// A stored message without its body. Is `nil` when it is not stored.
  public func head(_ room: RoomID, _ seq: Int64) throws -> MessageHead? {
    try db.first(
      """
      SELECT \(MessageHead.columns) FROM messages JOIN users AS sender ON sender.id = messages.sender
      WHERE room = (SELECT id FROM rooms WHERE name = ?) AND seq = ?
      """,
      [room.rawValue, seq], MessageHead.init(_:))
  }

  /// The name of the user who deleted the message of another user.
  fileprivate static let moderator =
    "(SELECT name FROM users WHERE users.id = messages.moderator) AS message_moderator"

  /// - Parameter bounds: Follow the id of the room and the first seq of the history as arguments of the query.
  private func read(
    _ room: RoomID, _ query: String, _ bounds: [Int64], limit: Int, kept: Int, maxBytes: Int?, pageBytes: Int,
    _ quoting: QuotedParts
  ) throws -> MessagePage? {
    let found = try db.first("SELECT id, epoch, seq, first FROM rooms WHERE name = ?", [room.rawValue])
    guard let found else { return nil }
    let newest: Int64 = found["seq"]
    let first = Retention.firstSeq(keeping: kept, newest: newest, stored: found["first"])
    var page = MessagePage(epoch: found["epoch"], newest: newest, first: first, messages: [], more: false)
    var bytes = 0
    let rows = try Row.fetchCursor(
      db.cachedStatement(sql: query), arguments: StatementArguments([found["id"] as Int64, first] + bounds))
    while let row = try rows.next() {
      guard page.messages.count < limit else {
        page.more = true
        break
      }
      let message = try StoredMessage(row)
      bytes += message.body.count
      if let maxBytes, bytes > maxBytes {
        page.messages = []
        page.exceeds = true
        break
      }
      if bytes > pageBytes, !page.messages.isEmpty {
        page.more = true
        break
      }
      page.messages.append(message)
    }
    try addQuotes(to: &page, in: found["id"], quoting, maxBytes: min(maxBytes ?? .max, pageBytes))
    return page
  }
}

extension ChangedMessage {
  /// - Parameter row: Has the columns of `messages`, or those of `annotations` with `value` as `body`.
  init(_ row: Row) throws {
    let kind: Annotation.Kind? = try row.choiceIfAny("kind")
    let annotation = try kind.map { Annotation($0, try row.annotation("body")) }
    self.init(
      seq: row["seq"], change: row["change"], time: row.time("changed_time") ?? Timestamp(rawValue: 0),
      body: row["is_deleted"] || annotation != nil ? nil : try row.bytes("body"), annotation: annotation,
      moderator: row.moderator)
  }

  /// The size of its variable part, in bytes.
  package var size: Int { body?.count ?? annotation?.value?.count ?? 0 }
}

extension StoredMessage {
  /// Columns of `messages` and of its `sender` in `users`.
  static let columns = """
    messages.seq AS message_seq, sender.name AS message_from, messages.time AS message_time,
    messages.body AS message_body, messages.mentions AS message_mentions, messages.reply_to AS message_reply_to,
    messages.is_deleted AS message_is_deleted, messages.changed_time AS message_changed_time,
    (SELECT value FROM annotations WHERE room = messages.room AND seq = messages.seq AND kind = 'reactions')
      AS message_reactions,
    (SELECT changed_time FROM annotations
      WHERE room = messages.room AND seq = messages.seq AND kind = 'pinned' AND value IS NOT NULL) AS message_pinned,
    \(MessageReader.moderator)
    """

  /// - Parameter row: Has the ``columns``.
  init(_ row: Row) throws {
    self.init(
      seq: row["message_seq"], from: UserID(unchecked: row["message_from"]), time: row.timestamp("message_time"),
      body: try row.bytes("message_body"), mentions: try row.json("message_mentions", "a message's mentions") ?? [],
      replyTo: row["message_reply_to"], isDeleted: row["message_is_deleted"],
      edited: row["message_is_deleted"] ? nil : row.time("message_changed_time"),
      reactions: try row.annotation("message_reactions"), pinned: row.time("message_pinned"),
      moderator: row.moderator)
  }
}

extension Row {
  /// The value of an annotation. The key of a reaction that is older than the rule for texts of one line loses the
  /// characters that no line has. JSON has these characters only in strings.
  func annotation(_ column: String) throws -> [UInt8]? {
    let value = try bytesIfAny(column)
    guard let value, value.contains(0xE2) else { return value }
    return String(decoding: value, as: UTF8.self).asLine.map { [UInt8]($0.utf8) }
  }

  fileprivate var moderator: UserID? { (self["message_moderator"] as String?).map(UserID.init(unchecked:)) }
}

extension MessageHead {
  /// Columns of `messages` and of its `sender` in `users`.
  static let columns = """
    messages.seq AS message_seq, sender.name AS message_from, messages.time AS message_time,
    messages.mentions AS message_mentions, messages.is_deleted AS message_is_deleted,
    messages.reports AS message_reports, \(PushRequest.columns)
    """

  /// - Parameter row: Has the ``columns``.
  init(_ row: Row) throws {
    let traits = MessageTraits(
      from: UserID(unchecked: row["message_from"]),
      mentions: try row.json("message_mentions", "a message's mentions") ?? [], push: try PushRequest(row),
      isDeleted: row["message_is_deleted"])
    self.init(
      seq: row["message_seq"], time: row.timestamp("message_time"), traits: traits, reports: row["message_reports"])
  }
}
