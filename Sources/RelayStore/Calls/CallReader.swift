// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads calls.
public struct CallReader {
  let db: Database

  /// A condition on `job`: its recipient has answered or declined the call, or the call is over. The push of a missed
  /// call expires by itself.
  static let ringsNoMore = """
    (EXISTS (
      SELECT 1 FROM call_parties AS party
      WHERE party.room = job.room AND party.seq = job.seq AND party.user = job.user)
    OR EXISTS (
      SELECT 1 FROM calls
      WHERE calls.room = job.room AND calls.seq = job.seq AND calls.state IN ('declined', 'cancelled', 'ended')))
    """

  /// A call with all users who have answered or declined. Is `nil` when there is none, or the room does not exist.
  public func call(_ room: RoomID, _ seq: Int64) throws -> Call? {
    guard let row = try db.first("\(Self.calls) WHERE rooms.name = ? AND calls.seq = ?", [room.rawValue, seq]) else {
      return nil
    }
    return try withParties(Call(row), room: row["room_id"])
  }

  /// The seq of the call that rings in a room.
  public func ringing(in room: RoomID) throws -> Int64? {
    try db.first(
      """
      SELECT calls.seq FROM rooms JOIN calls ON calls.room = rooms.id AND calls.state = 'ringing' WHERE rooms.name = ?
      """,
      [room.rawValue]
    )?["seq"]
  }

  /// The calls of a room, newest first.
  /// - Parameter before: The calls have a lower seq.
  public func page(of room: RoomID, before: Int64, limit: Int) throws -> (calls: [Call], more: Bool) {
    let rows = try db.all(
      "\(Self.calls) WHERE rooms.name = ? AND calls.seq < ? ORDER BY calls.seq DESC LIMIT ?",
      [room.rawValue, before, limit + 1])
    let calls = try rows.prefix(limit).map { try withParties(Call($0), room: $0["room_id"]) }
    return (calls, rows.count > limit)
  }

  /// The calls of a room that are not over. The calls that ring longest are first.
  public func open(in room: RoomID, limit: Int) throws -> [Call] {
    try db.all(
      """
      \(Self.calls) WHERE calls.room = (SELECT id FROM rooms WHERE name = ?) AND calls.due IS NOT NULL
      ORDER BY calls.ring_until DESC LIMIT ?
      """,
      [room.rawValue, limit]
    ).map { try withParties(Call($0), room: $0["room_id"]) }
  }

  /// The calls that ring for a member, in all rooms.
  public func allRinging(at now: Timestamp) throws -> [Call] {
    try db.all(
      """
      \(Self.calls)
      WHERE calls.due IS NOT NULL AND calls.ring_until > ? AND NOT (\(Schema.isDeleted("rooms.name")))
      """,
      [now.rawValue]
    ).map { try withParties(Call($0), room: $0["room_id"]) }
  }

  /// The calls that ring for a user: see ``Call/rings(for:at:)``. The calls that ring longest are first.
  public func ringing(for user: UserID, at now: Timestamp, limit: Int) throws -> [MessageReference] {
    try db.all(
      """
      SELECT rooms.name, calls.seq FROM users
      CROSS JOIN members INDEXED BY members_user ON members.user = users.id AND NOT members.is_withdrawn
      CROSS JOIN calls INDEXED BY calls_open
        ON calls.room = members.room AND calls.due IS NOT NULL AND calls.ring_until > ?2 AND calls.caller <> users.id
      CROSS JOIN rooms ON rooms.id = calls.room AND NOT (\(Schema.isDeleted("rooms.name")))
      WHERE users.name = ?1 AND NOT EXISTS (
        SELECT 1 FROM call_parties
        WHERE call_parties.room = calls.room AND call_parties.seq = calls.seq AND call_parties.user = users.id)
      ORDER BY calls.ring_until DESC, calls.room, calls.seq LIMIT ?3
      """,
      [user.rawValue, now.rawValue, limit]
    ) { MessageReference(room: RoomID(unchecked: $0["name"]), seq: $0["seq"]) }
  }

  /// The time at which the next call is due. Is `nil` when no call is open.
  public func nextDue() throws -> Timestamp? {
    try db.first("SELECT due FROM calls WHERE due IS NOT NULL ORDER BY due LIMIT 1")?.time("due")
  }

  static let calls = """
    SELECT rooms.name AS room, rooms.id AS room_id, calls.seq, users.name AS caller, calls.media, calls.began,
      calls.ring_until, calls.state, calls.due, calls.ended
    FROM calls JOIN rooms ON rooms.id = calls.room JOIN users ON users.id = calls.caller
    """

  func withParties(_ call: Call, room: Int64) throws -> Call {
    var call = call
    let parties = try db.all(
      """
      SELECT users.name, call_parties.state, call_parties.device, call_parties.answers, call_parties.has_session
      FROM call_parties JOIN users ON users.id = call_parties.user
      WHERE call_parties.room = ? AND call_parties.seq = ?
      """,
      [room, call.message.seq])
    for row in parties {
      let device: String? = row["device"]
      call.parties[UserID(unchecked: row["name"])] = Call.Party(
        try row.choice("state"), on: device.map(DeviceID.init(unchecked:)), answers: row["answers"],
        hasSession: row["has_session"])
    }
    return call
  }
}

extension Call {
  init(_ row: Row) throws {
    self.init(
      MessageReference(room: RoomID(unchecked: row["room"]), seq: row["seq"]), from: UserID(unchecked: row["caller"]),
      media: try row.choice("media"), began: row.timestamp("began"), ringUntil: row.timestamp("ring_until"))
    state = try row.choice("state")
    due = row.time("due")
    ended = row.time("ended")
  }
}
