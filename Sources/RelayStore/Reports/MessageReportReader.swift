// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads the reports of messages.
public struct MessageReportReader {
  let db: Database

  /// Reports, newest first, and true if older ones follow.
  /// - Parameters:
  ///   - room: The room of the reports. Is `nil` for all rooms.
  ///   - state: The state of the reports. Is `nil` for all states.
  ///   - viewer: The moderator who reads the reports, and gets none about the own messages. Is `nil` for a backend.
  ///   - before: The reports have a lower id.
  public func page(
    of room: RoomID? = nil, _ state: MessageReport.State? = nil, for viewer: UserID? = nil, before: Int64 = .max,
    limit: Int
  ) throws -> (reports: [MessageReport], more: Bool) {
    var conditions = ["message_reports.id < ?"]
    var arguments: StatementArguments = [before]
    if let room {
      conditions.append("message_reports.room = (SELECT id FROM rooms WHERE name = ?)")
      arguments += [room.rawValue]
    }
    if let state {
      conditions.append("state = ?")
      arguments += [state.rawValue]
    }
    if let viewer {
      conditions.append("message_reports.author IS NOT (SELECT id FROM users WHERE name = ?)")
      arguments += [viewer.rawValue]
    }
    let found = try db.all(
      "\(Self.reports) WHERE \(conditions.joined(separator: " AND ")) ORDER BY message_reports.id DESC LIMIT ?",
      arguments + [limit + 1], MessageReport.init(_:))
    return (Array(found.prefix(limit)), found.count > limit)
  }

  func report(_ id: Int64) throws -> MessageReport? {
    try db.first("\(Self.reports) WHERE message_reports.id = ?", [id], MessageReport.init(_:))
  }

  /// The order of the joins keeps the order of the reports.
  private static let reports = """
    SELECT message_reports.id, rooms.name AS room, message_reports.seq, author.name AS author, reporter.name AS user,
      reason, time, state, closer.name AS closer, closed
    FROM message_reports
    CROSS JOIN rooms ON rooms.id = message_reports.room AND NOT (\(Schema.isDeleted("rooms.name")))
    CROSS JOIN users AS author ON author.id = message_reports.author
    CROSS JOIN users AS reporter ON reporter.id = message_reports.user
    LEFT JOIN users AS closer ON closer.id = message_reports.closer
    """
}

extension MessageReport {
  init(_ row: Row) throws {
    self.init(
      id: row["id"], message: MessageReference(room: RoomID(unchecked: row["room"]), seq: row["seq"]),
      author: UserID(unchecked: row["author"]), user: UserID(unchecked: row["user"]), reason: row["reason"],
      time: row.timestamp("time"), state: try row.choice("state"),
      closer: (row["closer"] as String?).map(UserID.init(unchecked:)), closed: row.time("closed"))
  }
}
