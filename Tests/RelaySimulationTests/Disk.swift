// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

@testable import RelayStore

/// A push job as it stands on disk.
struct JobRow: Sendable {
  let id: String
  let place: Place
  let target: Target
  let state: JobState
  let created: Timestamp

  static let columns = """
    SELECT jobs.id, rooms.name, jobs.seq, users.name, jobs.device, jobs.state, jobs.created, jobs.rowid
    FROM jobs JOIN rooms ON rooms.id = jobs.room JOIN users ON users.id = jobs.user
    """

  init(_ row: Row) throws {
    id = row[0]
    place = Place(room: RoomID(unchecked: row[1]), seq: row[2])
    target = Target(user: UserID(unchecked: row[3]), device: DeviceID(unchecked: row[4]))
    state = try row.choice(5)
    created = Timestamp(rawValue: row[6])
  }
}

/// What has changed on disk.
struct DiskNews: Sendable {
  let jobs: [JobRow]
  /// The newest row of a job.
  let newest: Int64
  /// Jobs that are being sent.
  let sending: Set<String>
  let unfinished: Int
  /// Of each room.
  let cursors: [RoomID: Int64]
  let devices: Set<Target>
  /// When there is next something to claim.
  let nextDue: Timestamp?

  /// - Parameter newest: That of the news before.
  init(_ reader: Reader, after newest: Int64) throws {
    let db = reader.db
    let last: Int64 = try db.first("SELECT coalesce(max(rowid), 0) FROM jobs")?[0] ?? 0
    // When all jobs were purged, rows count from the beginning.
    jobs = try db.all("\(JobRow.columns) WHERE jobs.rowid > ?", [last < newest ? 0 : newest]).map(JobRow.init)
    self.newest = last
    sending = Set(try db.all("SELECT id FROM jobs WHERE state = 'sending'").map { $0[0] as String })
    unfinished = try db.first("SELECT count(*) FROM jobs WHERE \(Schema.unfinished)")?[0] ?? 0
    cursors = Dictionary(
      uniqueKeysWithValues: try db.all("SELECT name, cursor FROM rooms").map { (RoomID(unchecked: $0[0]), $0[1]) })
    devices = Set(try Disk.devices(db).keys)
    nextDue = try reader.nextDue()
  }
}

/// All that a restart finds.
struct Disk: Sendable {
  struct Room: Sendable {
    let epoch: String
    let seq: Int64
    let first: Int64
    let messages: [Int64: RoomLog.Message]
  }

  let rooms: [RoomID: Room]
  /// The marks of each member.
  let members: [Membership: (read: Int64, received: Int64)]
  let devices: [Target: String]
  let keys: [Model.Key: Model.First]

  init(_ reader: Reader) throws {
    let db = reader.db
    var rooms: [RoomID: Room] = [:]
    for row in try db.all("SELECT id, name, epoch, seq, first FROM rooms") {
      let messages = try db.all(
        "SELECT seq, users.name, time, body FROM messages JOIN users ON users.id = sender WHERE room = ?",
        [row[0] as Int64]
      ).map { row in
        let body = Int(String(decoding: try row.bytes(3), as: UTF8.self)) ?? -1
        return (
          row[0] as Int64,
          RoomLog.Message(from: UserID(unchecked: row[1]), time: Timestamp(rawValue: row[2]), body: body)
        )
      }
      rooms[RoomID(unchecked: row[1])] = Room(
        epoch: row[2], seq: row[3], first: row[4], messages: Dictionary(uniqueKeysWithValues: messages))
    }
    self.rooms = rooms
    members = Dictionary(
      uniqueKeysWithValues: try db.all(
        """
        SELECT rooms.name, users.name, read, received FROM members
        JOIN rooms ON rooms.id = room JOIN users ON users.id = user
        """
      ).map {
        (Membership(room: RoomID(unchecked: $0[0]), user: UserID(unchecked: $0[1])), ($0[2] as Int64, $0[3] as Int64))
      })
    devices = try Self.devices(db)
    keys = Dictionary(
      uniqueKeysWithValues: try db.all(
        """
        SELECT rooms.name, users.name, key, keys.seq, time FROM keys
        JOIN rooms ON rooms.id = room JOIN users ON users.id = user
        """
      ).map {
        (
          Model.Key(room: RoomID(unchecked: $0[0]), user: UserID(unchecked: $0[1]), key: Int($0[2] as String) ?? -1),
          Model.First(seq: $0[3], time: Timestamp(rawValue: $0[4]))
        )
      })
  }

  static func devices(_ db: Database) throws -> [Target: String] {
    Dictionary(
      uniqueKeysWithValues: try db.all("SELECT users.name, device, token FROM devices JOIN users ON users.id = user")
        .map { (Target(user: UserID(unchecked: $0[0]), device: DeviceID(unchecked: $0[1])), $0[2]) })
  }
}
