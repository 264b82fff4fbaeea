// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The messages above a user's read mark that are in the history, count as unread, and have another sender whom the user
/// has not blocked. Sending a message raises the mark of its sender, except for responses. A call that the user has
/// answered or declined is read.
public struct Unread: Equatable, Sendable {
  public var messages = 0
  /// The unread messages that mention the user.
  public var mentions = 0
}

extension MessageReader {
  /// The unread messages of the user. `rooms` has each room with unread messages, also muted ones. `total` counts only
  /// the messages that may notify the user.
  /// - Parameter now: Decides whether a room is still muted.
  public func unread(of user: UserID, now: Timestamp) throws -> (rooms: [RoomID: Unread], total: Unread) {
    guard let row = try db.first("SELECT id, preferences FROM users WHERE name = ?", [user.rawValue]) else {
      return ([:], Unread())
    }
    let preferences = try row.preferences()
    var rooms: [RoomID: Unread] = [:]
    var total = Unread()
    let id: Int64 = row["id"]
    let counts = try db.all(
      """
      SELECT rooms.name, \(Self.unreadMessages("?3")) AS unread, \(Self.unreadMentions("?2", "?3")) AS unread_mentions
      FROM members JOIN rooms ON rooms.id = members.room
      WHERE members.user = ?1 AND rooms.seq > members.read AND NOT members.is_withdrawn
      """,
      [id, "\"\(user.rawValue)\"", try blocked(by: id)])
    for count in counts where count["unread"] > 0 {
      let room = RoomID(unchecked: count["name"])
      let unread = Unread(messages: count["unread"], mentions: count["unread_mentions"])
      rooms[room] = unread
      switch preferences[room].level(at: now) {
      case .none: break
      case .mentions:
        total.messages += unread.mentions
        total.mentions += unread.mentions
      case .all:
        total.messages += unread.messages
        total.mentions += unread.mentions
      }
    }
    return (rooms, total)
  }

  /// The badge of one of the user's devices: the messages of the total, without the rooms that the device's filter
  /// refuses. The user's own label of a room decides, or else the label of the account on the device.
  /// - Parameters:
  ///   - blocked: The result of ``blocked(by:)``.
  ///   - filter: The criteria that the device's active filter passes. Is `nil` without an active filter.
  func badge(
    of user: Int64, _ preferences: Preferences, blocked: String?, filter: [String]?, account: String?, now: Timestamp
  ) throws -> Int {
    var left = preferences.rooms.filter { $0.value.level(at: now) == .none }.map(\.key)
    let mentions = preferences.rooms.filter { $0.value.level(at: now) == .mentions }.map(\.key)
    var passed: [RoomID]?
    if let filter {
      let labels = preferences.rooms.compactMapValues(\.criteria)
      left += labels.filter { !filter.contains($0.value) }.map(\.key)
      if let account, !filter.contains(account) { passed = labels.filter { filter.contains($0.value) }.map(\.key) }
    }
    let row = try db.first(
      """
      SELECT coalesce(sum(CASE WHEN rooms.name IN (SELECT value FROM json_each(?4))
        THEN \(Self.unreadMentions("(SELECT '\"' || name || '\"' FROM users WHERE id = ?1)", "?5"))
        ELSE \(Self.unreadMessages("?5")) END), 0)
      FROM members JOIN rooms ON rooms.id = members.room
      WHERE members.user = ?1 AND rooms.seq > members.read AND NOT members.is_withdrawn
        AND rooms.name NOT IN (SELECT value FROM json_each(?2))
        AND (?3 IS NULL OR rooms.name IN (SELECT value FROM json_each(?3)))
      """,
      [user, left.asJSON, passed?.asJSON, mentions.asJSON, blocked])
    return row?[0] ?? 0
  }

  /// The row ids of the senders whom a user has blocked, as a JSON array for the counts. Is `nil` without any.
  func blocked(by user: Int64) throws -> String? {
    let ids = try db.all(
      "SELECT users.id FROM blocks JOIN users ON users.name = blocks.other WHERE blocks.user = ?", [user]
    ) { $0[0] as Int64 }
    return ids.isEmpty ? nil : "[\(ids.map(String.init).joined(separator: ","))]"
  }

  /// The newest message that the member has read, or that is not in the history any more.
  static let readOrGone = "max(members.read, rooms.first - 1)"

  /// The mentions contain the names of all users whom the message mentions, see ``RelayProtocol/Mentions``.
  /// - Parameters:
  ///   - name: The name of the user, in quotes, as SQL.
  ///   - blocked: The parameter with the result of ``blocked(by:)``.
  static func unreadMentions(_ name: String, _ blocked: String) -> String {
    """
    (
      SELECT count(*) FROM messages AS mentioned INDEXED BY messages_mentions
      WHERE mentioned.room = rooms.id AND mentioned.seq > \(readOrGone) AND mentioned.mentions IS NOT NULL
        AND NOT mentioned.is_uncounted
        AND (instr(mentioned.mentions, \(name)) OR instr(mentioned.mentions, '"\(Mentions.allWord)"'))
        AND NOT EXISTS (
          SELECT 1 FROM call_parties AS party
          WHERE party.room = mentioned.room AND party.seq = mentioned.seq AND party.user = members.user)
        AND NOT \(isHidden("mentioned", blocked)))
    """
  }

  /// The messages of a room that a count looks at for blocked senders: the newest ones.
  static let maxScanned = 1_000

  /// Subtracts the messages that do not count as unread, so that other message rows need not be read. A user who has
  /// blocked senders costs a scan of the newest unread messages of each room: their messages before these
  /// ``maxScanned`` count as unread.
  /// - Parameter blocked: The parameter with the result of ``blocked(by:)``.
  static func unreadMessages(_ blocked: String) -> String {
    """
    (rooms.seq - \(readOrGone) - (
      SELECT count(*) FROM messages AS silent INDEXED BY messages_uncounted
      WHERE silent.room = rooms.id AND silent.seq > \(readOrGone) AND silent.is_uncounted) - (
      SELECT count(*) FROM messages AS own INDEXED BY messages_responses
      WHERE own.room = rooms.id AND own.sender = members.user AND own.seq > \(readOrGone)
        AND own.is_response AND NOT own.is_uncounted) - (
      SELECT count(*) FROM call_parties AS party
      CROSS JOIN messages AS call ON call.room = party.room AND call.seq = party.seq
      WHERE party.room = rooms.id AND party.seq > \(readOrGone) AND party.user = members.user
        AND NOT call.is_uncounted AND NOT \(isHidden("call", blocked))) -
      CASE WHEN \(blocked) IS NULL THEN 0 ELSE (
        SELECT count(*) FROM messages AS hidden
        WHERE hidden.room = rooms.id AND hidden.seq > max(\(readOrGone), rooms.seq - \(maxScanned))
          AND NOT hidden.is_uncounted
          AND \(isHidden("hidden", blocked))) END)
    """
  }

  /// A condition on a row of `messages`: the user has blocked its sender.
  private static func isHidden(_ message: String, _ blocked: String) -> String {
    "(\(blocked) IS NOT NULL AND \(message).sender IN (SELECT value FROM json_each(\(blocked))))"
  }
}
