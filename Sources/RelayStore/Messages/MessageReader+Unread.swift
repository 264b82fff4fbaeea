// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The messages above a user's read mark that are in the history, count as unread, and have another sender. Sending a
/// message raises the mark of its sender, except for responses.
public struct Unread: Equatable, Sendable {
  public var messages: Int
  /// The unread messages that mention the user.
  public var mentions: Int

  public init(messages: Int = 0, mentions: Int = 0) {
    self.messages = messages
    self.mentions = mentions
  }
}

extension MessageReader {
  /// The unread messages of the user: in each room that has any, including muted rooms, and the total of all rooms that
  /// are not muted.
  /// - Parameter now: Decides whether a room is still muted.
  public func unread(of user: UserID, now: Timestamp) throws -> (rooms: [RoomID: Unread], total: Unread) {
    guard let row = try db.first("SELECT id, preferences FROM users WHERE name = ?", [user.rawValue]) else {
      return ([:], Unread())
    }
    let preferences = try row.preferences()
    var rooms: [RoomID: Unread] = [:]
    var total = Unread()
    let counts = try db.all(
      """
      SELECT rooms.name, \(Self.unreadMessages) AS unread, \(Self.unreadMentions("?2")) AS unread_mentions
      FROM members JOIN rooms ON rooms.id = members.room
      WHERE members.user = ?1 AND rooms.seq > members.read AND NOT members.is_withdrawn
      """,
      [row["id"] as Int64, "\"\(user.rawValue)\""])
    for count in counts where count["unread"] > 0 {
      let room = RoomID(unchecked: count["name"])
      let unread = Unread(messages: count["unread"], mentions: count["unread_mentions"])
      rooms[room] = unread
      guard preferences[room].level(at: now) != .none else { continue }
      total.messages += unread.messages
      total.mentions += unread.mentions
    }
    return (rooms, total)
  }

  /// The badge of one of the user's devices: the messages of the total, without the rooms that the device's filter
  /// refuses. The user's own label of a room decides, or else the label of the account on the device.
  /// - Parameter filter: The criteria that the device's active filter passes. Is `nil` without an active filter.
  func badge(
    of user: Int64, _ preferences: Preferences, filter: [String]?, account: String?, now: Timestamp
  ) throws -> Int {
    var left = preferences.rooms.filter { $0.value.level(at: now) == .none }.map(\.key)
    var passed: [RoomID]?
    if let filter {
      let labels = preferences.rooms.compactMapValues(\.criteria)
      left += labels.filter { !filter.contains($0.value) }.map(\.key)
      if let account, !filter.contains(account) { passed = labels.filter { filter.contains($0.value) }.map(\.key) }
    }
    let row = try db.first(
      """
      SELECT coalesce(sum(\(Self.unreadMessages)), 0) FROM members JOIN rooms ON rooms.id = members.room
      WHERE members.user = ?1 AND rooms.seq > members.read AND NOT members.is_withdrawn
        AND rooms.name NOT IN (SELECT value FROM json_each(?2))
        AND (?3 IS NULL OR rooms.name IN (SELECT value FROM json_each(?3)))
      """,
      [user, left.asJSON, passed?.asJSON])
    return row?[0] ?? 0
  }

  /// The newest message that the member has read, or that is not in the history any more.
  static let readOrGone = "max(members.read, rooms.first - 1)"

  /// The mentions contain the names of all users whom the message mentions, see ``RelayProtocol/Mentions``.
  /// - Parameter name: The parameter with the name of the user, in quotes.
  static func unreadMentions(_ name: String) -> String {
    """
    (
      SELECT count(*) FROM messages AS mentioned INDEXED BY messages_mentions
      WHERE mentioned.room = rooms.id AND mentioned.seq > \(readOrGone) AND mentioned.mentions IS NOT NULL
        AND NOT mentioned.is_uncounted
        AND (instr(mentioned.mentions, \(name)) OR instr(mentioned.mentions, '"\(Mentions.allWord)"')))
    """
  }

  /// Subtracts the messages that do not count as unread, so that message rows need not be read.
  static let unreadMessages = """
    (rooms.seq - \(readOrGone) - (
      SELECT count(*) FROM messages AS silent INDEXED BY messages_uncounted
      WHERE silent.room = rooms.id AND silent.seq > \(readOrGone) AND silent.is_uncounted) - (
      SELECT count(*) FROM messages AS own INDEXED BY messages_responses
      WHERE own.room = rooms.id AND own.sender = members.user AND own.seq > \(readOrGone)
        AND own.is_response AND NOT own.is_uncounted))
    """
}
