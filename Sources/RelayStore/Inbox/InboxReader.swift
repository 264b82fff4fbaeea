// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads the rooms of a user with their newest messages and unread counts.
public struct InboxReader {
  let db: Database

  /// The newest change of all lists.
  public func position() throws -> InboxPosition {
    guard let row = try db.first("SELECT epoch, newest FROM inbox WHERE id = 1") else {
      throw StoreError.invalidRow(reason: "the table inbox has no row")
    }
    return InboxPosition(epoch: row["epoch"], number: row["newest"])
  }

  /// A page of the user's rooms. Leaves out withdrawn rooms: the user's newest token lacks the right `join` in them.
  ///
  /// Scans two short rows for each room of the user, and reads other rows only for the rooms of the page. For a user
  /// with at least ``manyRooms`` rooms, this first walks over the next ``maxWalked`` rooms of all users in the order of
  /// the page. For ``InboxPage/after(_:)`` it also walks over the user's own changes. These walks usually fill the
  /// page. If they do not, the scan follows.
  /// - Parameters:
  ///   - limit: The maximum number of entries.
  ///   - hasBodies: False if the caller does not need the bodies of the newest messages.
  ///   - now: Decides whether a room is still muted.
  public func rooms(
    of user: UserID, _ page: InboxPage = .before(.max), limit: Int, hasBodies: Bool = true, now: Timestamp
  ) throws -> InboxRooms {
    let position = try position()
    guard let row = try db.first("SELECT id, preferences FROM users WHERE name = ?", [user.rawValue]) else {
      return InboxRooms(entries: [], position: position, more: false)
    }
    let preferences = try row.preferences()
    let mention = "\"\(user.rawValue)\""
    let id: Int64 = row["id"]
    let queries = page.queries
    let blocked = try MessageReader(db: db).blocked(by: id)
    func read(_ query: String, to end: Int64) throws -> [InboxEntry] {
      try db.all(query, [id, page.start, end, limit + 1, mention, hasBodies, blocked, user.rawValue]) {
        try InboxEntry($0, preferences, now: now)
      }
    }
    var entries: [InboxEntry] = []
    var isFilled = false
    if try hasManyRooms(id) {
      let end: Int64? = try db.first(queries.endOfWalk, [page.start])?[0]
      entries = try read(queries.walk, to: end ?? queries.end)
      // The walk may find too few rooms of this user.
      isFilled = end == nil || entries.count > limit
    }
    if !isFilled { entries = try read(queries.scan, to: queries.end) }
    // SQLite usually returns the entries in this order, but does not guarantee it. A sort in SQL would copy all
    // columns.
    entries.sort { page.isBefore($0.number, $1.number) }
    let more = entries.count > limit
    if more { entries.removeLast() }
    return InboxRooms(entries: entries, position: position, more: more)
  }

  /// True if the position is one of this database, and the user's list has lost no room after it. Otherwise
  /// ``InboxPage/after(_:)`` is incomplete.
  public func isComplete(of user: UserID, since position: InboxPosition) throws -> Bool {
    let newest = try self.position()
    guard newest.epoch == position.epoch, position.number <= newest.number else { return false }
    return try !db.has(
      """
      SELECT 1 FROM users WHERE name = ?1 AND (departed > ?2 OR EXISTS (
        SELECT 1 FROM members INDEXED BY members_user WHERE user = users.id
          AND NOT EXISTS (SELECT 1 FROM activity WHERE activity.room = members.room)))
      """,
      [user.rawValue, position.number])
  }

  /// The minimum number of rooms of a user for which a walk comes first.
  static let manyRooms = 1_000
  /// The maximum number of rooms of all users that the walk for a page looks at in each index, before the scan.
  static let maxWalked = 1_000

  private func hasManyRooms(_ user: Int64) throws -> Bool {
    try db.has("SELECT 1 FROM members WHERE user = ? LIMIT 1 OFFSET \(Self.manyRooms - 1)", [user])
  }
}

extension InboxPage {
  fileprivate var start: Int64 {
    switch self {
    case .before(let number), .after(let number): number
    }
  }

  /// True if a room with the first number comes before a room with the second one.
  fileprivate func isBefore(_ first: Int64, _ second: Int64) -> Bool {
    switch self {
    case .before: first > second
    case .after: first < second
    }
  }

  fileprivate var queries: PageQueries {
    switch self {
    case .before: .activity
    case .after: .changes
    }
  }
}

/// The queries of one kind of page.
///
/// `scan` and `walk` find at most ?4 rooms of user ?1 with a number between ?2 and ?3. A number is the position of the
/// newest activity or of the newest change. `endOfWalk` has one parameter: the number at which the page begins.
private struct PageQueries {
  /// The last number that a page may have.
  let end: Int64
  /// Scans the rooms of the user.
  let scan: String
  /// Walks over the rooms of all users, in the order of the page.
  let walk: String
  /// Finds the number at which the walk after ?1 ends, because it has seen ``InboxReader/maxWalked`` rooms. Is NULL if
  /// the walk sees all rooms.
  let endOfWalk: String

  /// The rooms by their newest activity, the newest first.
  static let activity = PageQueries(
    end: 0,
    // The index on the user has the rooms by id, so the scan reads the rows of `activity` in their order.
    scan: entries(
      """
      SELECT activity.room, activity.position AS number, activity.members AS member_count
      FROM members AS own INDEXED BY members_user CROSS JOIN activity ON activity.room = own.room
      WHERE own.user = ?1 AND activity.position < ?2 AND activity.position >= ?3 AND own.room NOT IN (\(withdrawn))
      ORDER BY activity.position DESC LIMIT ?4
      """),
    walk: entries(
      """
      SELECT activity.room, activity.position AS number, activity.members AS member_count
      FROM activity INDEXED BY activity_position CROSS JOIN members AS own ON own.room = activity.room
      WHERE own.user = ?1 AND activity.position < ?2 AND activity.position >= ?3 AND NOT own.is_withdrawn
      ORDER BY activity.position DESC LIMIT ?4
      """),
    endOfWalk: """
      SELECT position FROM activity INDEXED BY activity_position WHERE position < ?1
      ORDER BY position DESC LIMIT 1 OFFSET \(InboxReader.maxWalked - 1)
      """)

  /// The rooms that changed for all members or for this one, the oldest change first.
  static let changes = PageQueries(
    end: .max,
    scan: entries(
      """
      SELECT room, max(number) AS number,
        (SELECT members FROM activity WHERE activity.room = found.room) AS member_count
      FROM (
        SELECT activity.room, activity.changed AS number
        FROM members AS own INDEXED BY members_user CROSS JOIN activity ON activity.room = own.room
        WHERE own.user = ?1 AND activity.changed > ?2 AND activity.changed <= ?3
        UNION ALL
        SELECT own.room, own.changed FROM members AS own INDEXED BY members_changed
        WHERE own.user = ?1 AND own.changed > ?2 AND own.changed <= ?3
          AND EXISTS (SELECT 1 FROM activity WHERE activity.room = own.room)
      ) AS found
      WHERE room NOT IN (\(withdrawn)) GROUP BY room ORDER BY number LIMIT ?4
      """),
    // Each room is in exactly one of the three parts, with its newest change. If a room were in two parts, the limit
    // could drop another room from one of them, and the page could end after that room's number.
    walk: entries(
      """
      SELECT * FROM (
        SELECT activity.room, activity.position AS number, activity.members AS member_count
        FROM activity INDEXED BY activity_position CROSS JOIN members AS own ON own.room = activity.room
        WHERE own.user = ?1 AND activity.position > ?2 AND activity.position <= ?3
          AND activity.changed = activity.position AND own.changed <= activity.changed AND NOT own.is_withdrawn
        ORDER BY activity.position LIMIT ?4)
      UNION ALL
      SELECT * FROM (
        SELECT activity.room, activity.changed, activity.members
        FROM activity INDEXED BY activity_edited CROSS JOIN members AS own ON own.room = activity.room
        WHERE own.user = ?1 AND activity.changed > ?2 AND activity.changed <= ?3
          AND activity.changed <> activity.position AND own.changed <= activity.changed AND NOT own.is_withdrawn
        ORDER BY activity.changed LIMIT ?4)
      UNION ALL
      SELECT * FROM (
        SELECT own.room, own.changed, activity.members
        FROM members AS own INDEXED BY members_changed CROSS JOIN activity ON activity.room = own.room
        WHERE own.user = ?1 AND own.changed > ?2 AND own.changed <= ?3
          AND own.changed > activity.changed AND NOT own.is_withdrawn
        ORDER BY own.changed LIMIT ?4)
      ORDER BY number LIMIT ?4
      """),
    endOfWalk: """
      SELECT min(number) FROM (
        SELECT * FROM (
          SELECT position AS number FROM activity INDEXED BY activity_position WHERE position > ?1
          ORDER BY position LIMIT 1 OFFSET \(InboxReader.maxWalked - 1))
        UNION ALL
        SELECT * FROM (
          SELECT changed FROM activity INDEXED BY activity_edited WHERE changed <> position AND changed > ?1
          ORDER BY changed LIMIT 1 OFFSET \(InboxReader.maxWalked - 1)))
      """)

  private static let withdrawn = """
    SELECT room FROM members INDEXED BY members_withdrawn WHERE user = ?1 AND is_withdrawn
    """

  /// Adds the columns of ``InboxEntry`` to the rooms of a page.
  private static func entries(_ found: String) -> String {
    """
    WITH page AS MATERIALIZED (\(found))
    SELECT \(EntryColumn.allCases.map(\.sql).joined(separator: ", "))
    FROM page CROSS JOIN rooms ON rooms.id = page.room
    CROSS JOIN members ON members.room = page.room AND members.user = ?1
    LEFT JOIN details ON details.room = page.room
    LEFT JOIN directs ON directs.room = page.room
    LEFT JOIN users AS other ON directs.have_met AND other.name = \(EntryColumn.other.sql)
    LEFT JOIN messages ON messages.room = page.room AND messages.seq = rooms.seq AND rooms.seq >= rooms.first
    LEFT JOIN users AS sender ON sender.id = messages.sender
    """
  }
}

/// A column of ``PageQueries``. The raw value is its index: a lookup by name would hash the names again for each row.
private enum EntryColumn: Int, CaseIterable {
  case number, members, room, seq, read, unread, mentions
  case time, isDeleted, body, sender, senderName, senderAvatar
  case other, otherName, otherAvatar
  /// The columns of ``RoomDetails``. The last case, because they are several.
  case details

  var sql: String {
    switch self {
    case .number: "page.number"
    case .members: "page.member_count"
    case .room: "rooms.name"
    case .seq: "rooms.seq"
    case .read: "members.read"
    case .unread: MessageReader.unreadMessages("?7")
    case .mentions: MessageReader.unreadMentions("?5", "?7")
    case .time: "messages.time"
    case .isDeleted: "messages.is_deleted"
    case .body: "CASE WHEN ?6 THEN messages.body END"
    case .sender: "sender.name"
    case .senderName: "sender.display_name"
    case .senderAvatar: "sender.avatar"
    case .other: "CASE directs.low WHEN ?8 THEN directs.high ELSE directs.low END"
    case .otherName: "other.display_name"
    case .otherAvatar: "other.avatar"
    case .details: RoomDetails.columns(withMetadata: false)
    }
  }
}

extension InboxEntry {
  fileprivate init(_ row: Row, _ preferences: Preferences, now: Timestamp) throws {
    let room = RoomID(unchecked: row[.room])
    var last: LastMessage?
    if let sender = row.user(.sender, .senderName, .senderAvatar) {
      let isDeleted: Bool = row[.isDeleted]
      last = LastMessage(
        seq: row[.seq], time: Timestamp(rawValue: row[.time]), from: sender,
        body: isDeleted ? nil : try row.bytesIfAny(EntryColumn.body.rawValue), isDeleted: isDeleted)
    }
    let other = row.user(.other, .otherName, .otherAvatar)
    self.init(
      room: room, details: try RoomDetails(row, at: EntryColumn.details.rawValue),
      memberCount: other == nil ? row[.members] : 2, other: other, lastMessage: last,
      unread: Unread(messages: row[.unread], mentions: row[.mentions]),
      isMuted: preferences[room].level(at: now) == .none, read: row[.read], number: row[.number])
  }
}

extension Row {
  fileprivate subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ column: EntryColumn) -> Value {
    self[column.rawValue]
  }

  /// The user of three columns. Is `nil` when the outer join found none.
  fileprivate func user(_ id: EntryColumn, _ name: EntryColumn, _ avatar: EntryColumn) -> User? {
    guard let id: String = self[id] else { return nil }
    return User(id: UserID(unchecked: id), name: line(name.rawValue), avatar: self[avatar])
  }
}
