// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads responses, the notifications that they answer, and the registry of categories.
public struct ResponseReader {
  let db: Database

  /// A condition on `job` and its row of `messages`: a call that the user has responded to.
  static let isAnsweredCall = """
    EXISTS (
      SELECT 1 FROM responses
      WHERE responses.room = job.room AND responses.seq = job.seq AND responses.user = job.user)
    AND coalesce(messages.push_kind = '\(MessageKind.call.rawValue)', 0)
    """

  /// The job ?1 if it belongs to the user ?2, with its message, the sender and the room.
  static let notificationOfUser = """
    FROM jobs AS job
    JOIN users ON users.id = job.user AND users.name = ?2
    JOIN messages ON messages.room = job.room AND messages.seq = job.seq AND NOT messages.is_deleted
    JOIN users AS sender ON sender.id = messages.sender
    JOIN rooms ON rooms.id = job.room AND NOT (\(Schema.isDeleted("rooms.name")))
    WHERE job.id = ?1 AND job.kind = 'push'
    """

  /// A condition on a row of ``notificationOfUser``: the user is a member of the room, or the notification has no room.
  static let mayRespond = """
    (\(Schema.isNotifications("rooms.name"))
      OR EXISTS (SELECT 1 FROM members WHERE members.room = job.room AND members.user = job.user))
    """

  /// A notification for a user whose job and message are still stored. Is `nil` when there is none.
  public func notification(_ id: String, of user: UserID) throws -> NotificationRecord? {
    let row = try db.first(
      """
      SELECT rooms.name AS room, job.seq, sender.name AS sender, messages.push_category, \(Self.mayRespond) AS is_member
      \(Self.notificationOfUser)
      """,
      [id, user.rawValue])
    guard let row else { return nil }
    let category: String? = row["push_category"]
    return NotificationRecord(
      message: MessageReference(room: RoomID(unchecked: row["room"]), seq: row["seq"]),
      sender: UserID(unchecked: row["sender"]), category: category.map(CategoryID.init(unchecked:)),
      isMember: row["is_member"])
  }

  /// The oldest responses above `id` that a sender has not received yet, without texts of rooms that the sender has
  /// left.
  public func responses(to sender: UserID, after id: Int64, limit: Int) throws -> [StoredResponse] {
    try db.all(
      """
      SELECT responses.id, notification, rooms.name AS room_name, responses.seq, users.name AS user_name, action,
        CASE WHEN \(Schema.isNotifications("rooms.name"))
          OR EXISTS (SELECT 1 FROM members WHERE members.room = responses.room AND members.user = sender) THEN text END AS text,
        posted
      FROM responses JOIN rooms ON rooms.id = responses.room AND NOT (\(Schema.isDeleted("rooms.name")))
      JOIN users ON users.id = responses.user
      WHERE sender = (SELECT id FROM users WHERE name = ?) AND NOT is_told AND responses.id > ?
      ORDER BY responses.id LIMIT ?
      """,
      [sender.rawValue, id, limit]
    ) { row in
      StoredResponse(
        id: row["id"], notification: row["notification"],
        message: MessageReference(room: RoomID(unchecked: row["room_name"]), seq: row["seq"]),
        user: UserID(unchecked: row["user_name"]), sender: sender, action: ActionID(unchecked: row["action"]),
        text: row["text"], posted: row["posted"])
    }
  }

  /// The senders for whom responses are stored that they have not received. Called at the start.
  public func sendersWithResponses() throws -> [UserID] {
    try db.all(
      """
      SELECT DISTINCT users.name FROM responses JOIN users ON users.id = responses.sender WHERE NOT is_told
      """
    ).map { UserID(unchecked: $0[0]) }
  }

  /// The registry of categories as a JSON array. Is `nil` when it was never set.
  public func categories() throws -> (version: Int64, categories: [UInt8])? {
    try db.first("SELECT version, categories FROM categories WHERE id = 1").map {
      ($0["version"], try $0.bytes("categories"))
    }
  }
}
