// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

extension Transaction {
  /// Gives a message another body. Pushes that are not sent yet will tell it, and phones that show another are told.
  /// - Parameters:
  ///   - user: Nothing is changed when somebody else sent it; nil: whoever sent it.
  ///   - time: The time of the change; the store's clock when it is absent.
  ///   - body: Valid JSON.
  ///   - isTold: false: phones show nothing of it.
  /// - Returns: What it is; nil when it is not stored.
  public func edit(
    _ room: RoomID, _ seq: Int64, by user: UserID? = nil, at time: Timestamp? = nil, body: [UInt8],
    isTold: Bool = true
  ) throws -> Edited? {
    try change(room, seq, by: user, at: time ?? now) { room in
      try db.run("UPDATE messages SET body = ? WHERE room = ? AND seq = ?", [Data(body), room, seq])
      if isTold { try update(room, seq, .edited) }
    }
  }

  /// Takes all that a message said, cancels its pushes, and has phones that show it say so. Its place stays.
  /// - Parameters:
  ///   - user: Nothing is changed when somebody else sent it; nil: whoever sent it.
  ///   - time: The time of the change; the store's clock when it is absent.
  /// - Returns: What it was; nil when it is not stored.
  public func delete(
    _ room: RoomID, _ seq: Int64, by user: UserID? = nil, at time: Timestamp? = nil
  ) throws -> Edited? {
    try change(room, seq, by: user, at: time ?? now) { room in
      try update(room, seq, .deleted)
      try db.run(
        """
        UPDATE messages
        SET is_deleted = 1, is_uncounted = 1, body = x'', mentions = NULL, reply_to = NULL, push = NULL,
          push_kind = NULL, push_category = NULL, push_collapse = NULL, push_level = NULL, push_style = NULL
        WHERE room = ? AND seq = ?
        """,
        [room, seq])
      try cancelJobs("room = ? AND seq = ?", [room, seq], note: "deleted")
    }
  }

  private func change(
    _ room: RoomID, _ seq: Int64, by user: UserID?, at time: Timestamp, _ change: (_ room: Int64) throws -> Void
  ) throws -> Edited? {
    guard let known = try row(of: room) else { return nil }
    let row = try db.first(
      """
      SELECT users.name, time, is_deleted FROM messages JOIN users ON users.id = sender WHERE room = ? AND seq = ?
      """,
      [known.id, seq])
    guard let row else { return nil }
    let from = UserID(unchecked: row[0])
    let isDeleted: Bool = row[2]
    let isChanged = !isDeleted && (user == nil || user == from)
    if isChanged {
      try change(known.id)
      try db.run(
        "UPDATE messages SET changed = ?, changed_time = ? WHERE room = ? AND seq = ?",
        [known.seq, time.rawValue, known.id, seq])
    }
    return Edited(from: from, time: Timestamp(rawValue: row[1]), isChanged: isChanged, newest: known.seq)
  }
}
