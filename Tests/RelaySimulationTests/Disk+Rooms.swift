// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

@testable import RelayStore

extension Disk {
  /// The members, the bans and the calls of all rooms.
  struct Rooms: Sendable {
    private(set) var rooms: [RoomID: RoomModel] = [:]
    /// The number of all calls, with those that were not read.
    let callCount: Int

    /// Reads the members, the bans, the open calls, and the calls that have ended since `time`.
    init(_ db: Database, endedSince time: Timestamp) throws {
      callCount = try db.first("SELECT count(*) FROM calls")?[0] ?? 0
      try readMembers(db)
      try readCalls(db, endedSince: time)
    }

    private mutating func readMembers(_ db: Database) throws {
      for row in try db.all(
        "SELECT name FROM details JOIN rooms ON rooms.id = details.room WHERE is_owned")
      {
        rooms[RoomID(unchecked: row[0]), default: RoomModel()].isOwned = true
      }
      let members = try db.all(
        """
        SELECT rooms.name, users.name, role, joined FROM members
        JOIN rooms ON rooms.id = members.room JOIN users ON users.id = members.user
        """)
      for row in members {
        rooms[RoomID(unchecked: row[0]), default: RoomModel()].members[UserID(unchecked: row[1])] =
          RoomModel.Member(
            role: RoomRole(rawValue: row[2]) ?? .member, joined: Timestamp(rawValue: row[3]))
      }
      let bans = try db.all(
        """
        SELECT rooms.name, users.name, until FROM bans
        JOIN rooms ON rooms.id = bans.room JOIN users ON users.id = bans.user
        """)
      for row in bans {
        rooms[RoomID(unchecked: row[0]), default: RoomModel()].bans[UserID(unchecked: row[1])] =
          RoomModel.Ban(
            until: row.time(2))
      }
    }

    private mutating func readCalls(_ db: Database, endedSince time: Timestamp) throws {
      let condition = "calls.due IS NOT NULL OR calls.ended >= ?"
      let rows = try db.all(
        """
        SELECT rooms.name, calls.seq, users.name, began, ring_until, calls.state, due, ended FROM calls
        JOIN rooms ON rooms.id = calls.room JOIN users ON users.id = calls.caller WHERE \(condition)
        """,
        [time.rawValue])
      for row in rows {
        var call = CallModel(
          from: UserID(unchecked: row[2]), began: Timestamp(rawValue: row[3]),
          ringUntil: Timestamp(rawValue: row[4]))
        call.state = try row.choice(5)
        call.due = row.time(6)
        call.ended = row.time(7)
        self.rooms[RoomID(unchecked: row[0]), default: RoomModel()].calls[row[1]] = call
      }
      guard !rows.isEmpty else { return }
      let parts = try db.all(
        """
        SELECT rooms.name, calls.seq, users.name, parts.state, parts.answers FROM calls
        JOIN call_parties AS parts ON parts.room = calls.room AND parts.seq = calls.seq
        JOIN rooms ON rooms.id = calls.room JOIN users ON users.id = parts.user WHERE \(condition)
        """,
        [time.rawValue])
      for row in parts {
        self.rooms[RoomID(unchecked: row[0])]?.calls[row[1]]?.parts[UserID(unchecked: row[2])] =
          CallModel.Part(
            state: try row.choice(3), answers: row[4])
      }
    }
  }
}
