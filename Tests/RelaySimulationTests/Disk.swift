// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

@testable import RelayStore

/// A push job as it is stored.
struct JobRow: Sendable {
  let id: String
  let place: Place
  let target: Target
  let state: JobState
  let created: Timestamp
  let due: Timestamp
  let level: String?
  let isAnyway: Bool
  /// The digest head: the job whose push contains this job's message.
  let mergedInto: String?
  let attempts: Int
  let note: String?
  let isFinished: Bool
  /// JSON.
  let explanation: String?

  static let columns = """
    SELECT jobs.id, rooms.name, jobs.seq, users.name, jobs.device, jobs.state, jobs.created, jobs.due,
      jobs.level, jobs.is_notify_anyway, jobs.merged_into, jobs.attempts, jobs.note, jobs.finished_at IS NOT NULL,
      jobs.explanation
    FROM jobs JOIN rooms ON rooms.id = jobs.room JOIN users ON users.id = jobs.user AND jobs.kind = 'push'
    """

  init(_ row: Row) throws {
    id = row[0]
    place = Place(room: RoomID(unchecked: row[1]), seq: row[2])
    target = Target(user: UserID(unchecked: row[3]), device: DeviceID(unchecked: row[4]))
    state = try row.choice(5)
    created = Timestamp(rawValue: row[6])
    due = Timestamp(rawValue: row[7])
    level = row[8]
    isAnyway = row[9]
    mergedInto = row[10]
    attempts = row[11]
    note = row[12]
    isFinished = row[13]
    explanation = row[14]
  }

  /// True if the other state has the same decision.
  func isAsDecided(_ other: JobRow) -> Bool {
    state == other.state && due == other.due && level == other.level && isAnyway == other.isAnyway
      && mergedInto == other.mergedInto && explanation == other.explanation
  }
}

/// The changes on disk since the last read.
struct DiskChanges: Sendable {
  /// The new jobs, the unfinished jobs, and the jobs that have finished since the last read.
  let jobs: [JobRow]
  /// The number of the newest job.
  let newest: Int64
  let unfinished: Int
  /// The cursor of each room.
  let cursors: [RoomID: Int64]
  let devices: Set<Target>
  let reports: Disk.Reports
  let governed: Disk.Rooms
  /// The next time at which a job can be claimed.
  let nextDue: Timestamp?

  /// - Parameters:
  ///   - newest: The newest job at the last read.
  ///   - time: The time of the last read.
  init(_ reader: Reader, after newest: Int64, since time: Timestamp) throws {
    let db = reader.db
    let last: Int64 = try db.first("SELECT coalesce(max(number), 0) FROM jobs")?[0] ?? 0
    let open = try db.all("\(JobRow.columns) WHERE jobs.finished_at IS NULL ORDER BY jobs.number").map(JobRow.init)
    let ended = try db.all(
      "\(JobRow.columns) WHERE jobs.finished_at >= ? OR jobs.finished_at IS NOT NULL AND jobs.number > ?",
      [time.rawValue, newest]
    ).map(JobRow.init)
    jobs = open + ended
    self.newest = max(last, newest)
    unfinished = open.count
    cursors = Dictionary(
      uniqueKeysWithValues: try db.all("SELECT name, cursor FROM rooms").map { (RoomID(unchecked: $0[0]), $0[1]) })
    devices = Set(try Disk.devices(db).keys)
    reports = try Disk.Reports(db)
    governed = try Disk.Rooms(db, endedSince: time)
    nextDue = try reader.queue.nextDue()
  }
}

/// The state on disk that a start finds.
struct Disk: Sendable {
  struct Room: Sendable {
    let epoch: String
    let seq: Int64
    let first: Int64
    let messages: [Int64: RoomLog.Message]
    let deleted: Set<Int64>
  }

  /// The devices that have reported their Focus or its filter.
  struct Reports: Sendable {
    let focus: Set<Target>
    let filters: Set<Target>
  }

  let rooms: [RoomID: Room]
  /// The marks of each member.
  let members: [Membership: (read: Int64, received: Int64)]
  let devices: [Target: String]
  let keys: [Model.Key: Model.First]
  let people: [UserID: UserRecord]
  /// The users who were silenced, and the times at which they were notified.
  let silenced: [Place: [UserID: Timestamp?]]
  let governed: Rooms
  let changes: [RoomID: ChangeModel]

  init(_ reader: Reader) throws {
    let db = reader.db
    var rooms: [RoomID: Room] = [:]
    for row in try db.all("SELECT id, name, epoch, seq, first FROM rooms") {
      let messages = try db.all(
        "SELECT seq, users.name, time, body, is_deleted FROM messages JOIN users ON users.id = sender WHERE room = ?",
        [row[0] as Int64]
      ).map { row in
        let body = Int(String(decoding: try row.bytes(3).dropFirst().dropLast(), as: UTF8.self)) ?? -1
        return (
          row[0] as Int64,
          RoomLog.Message(from: UserID(unchecked: row[1]), time: Timestamp(rawValue: row[2]), body: body),
          row[4] as Bool
        )
      }
      rooms[RoomID(unchecked: row[1])] = Room(
        epoch: row[2], seq: row[3], first: row[4],
        messages: Dictionary(uniqueKeysWithValues: messages.map { ($0.0, $0.1) }),
        deleted: Set(messages.filter(\.2).map(\.0)))
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
    governed = try Rooms(db, endedSince: VirtualClock.start)
    changes = try Self.changes(db)
    people = Dictionary(uniqueKeysWithValues: try reader.people.users(World.users).map { ($0.user.id, $0) })
    silenced = try db.all(
      """
      SELECT rooms.name, silenced.seq, users.name, notified FROM silenced
      JOIN rooms ON rooms.id = room JOIN users ON users.id = user
      """
    ).reduce(into: [:]) { silenced, row in
      let place = Place(room: RoomID(unchecked: row[0]), seq: row[1])
      silenced[place, default: [:]].updateValue(row.time(3), forKey: UserID(unchecked: row[2]))
    }
  }

  static func devices(_ db: Database) throws -> [Target: String] {
    Dictionary(
      uniqueKeysWithValues: try db.all("SELECT users.name, device, token FROM devices JOIN users ON users.id = user")
        .map { (Target(user: UserID(unchecked: $0[0]), device: DeviceID(unchecked: $0[1])), $0[2]) })
  }
}

extension Disk.Reports {
  init(_ db: Database) throws {
    func targets(_ table: String) throws -> Set<Target> {
      Set(
        try db.all("SELECT users.name, device FROM \(table) JOIN users ON users.id = user")
          .map { Target(user: UserID(unchecked: $0[0]), device: DeviceID(unchecked: $0[1])) })
    }
    focus = try targets("focus")
    filters = try targets("filters")
  }

  /// The devices of these reports that have reported since `before`.
  func reports(since before: Model, in after: Model) -> Disk.Reports {
    Disk.Reports(
      focus: focus.filter { before.people[$0.user]?.focus[$0.device] != after.people[$0.user]?.focus[$0.device] },
      filters: filters.filter {
        before.people[$0.user]?.filters[$0.device] != after.people[$0.user]?.filters[$0.device]
      })
  }
}
