// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A user, without the facts of a room.
public struct UserRecord: Equatable, Sendable {
  public var user: User
  public var lastSeen: Timestamp?
  public var focus: [FocusRecord]
  public var devices: [Device]
  public var filters: [FilterRecord]
  public var preferences: Preferences
  /// The users whom this user has blocked.
  public var blocks: Set<UserID>
  /// The rooms of the user in which the newest token does not give the right `join`.
  public var withdrawn: Set<RoomID>

  public init(
    user: User, lastSeen: Timestamp?, focus: [FocusRecord], devices: [Device], filters: [FilterRecord] = [],
    preferences: Preferences = Preferences(), blocks: Set<UserID> = [], withdrawn: Set<RoomID> = []
  ) {
    self.user = user
    self.lastSeen = lastSeen
    self.focus = focus
    self.devices = devices
    self.filters = filters
    self.preferences = preferences
    self.blocks = blocks
    self.withdrawn = withdrawn
  }
}

/// The reports, devices and blocks of many users, by the users' row ids.
struct Belongings {
  private var focus: [Int64: [FocusRecord]] = [:]
  private var filters: [Int64: [FilterRecord]] = [:]
  private var devices: [Int64: [Device]] = [:]
  private var blocks: [Int64: Set<UserID>] = [:]
  private var withdrawn: [Int64: Set<RoomID>] = [:]

  /// - Parameter users: A query of row ids.
  init(_ db: Database, of users: String, _ arguments: StatementArguments) throws {
    func rows(_ columns: String, _ table: String) throws -> [Row] {
      try db.all(
        "SELECT user, \(columns) FROM \(table) WHERE user IN (\(users)) ORDER BY user, device", arguments)
    }
    for row in try rows(FocusRecord.columns, "focus") { try focus[row[0], default: []].append(FocusRecord(row)) }
    for row in try rows(FilterRecord.columns, "filters") { try filters[row[0], default: []].append(FilterRecord(row)) }
    for row in try rows(Device.columns, "devices") { try devices[row[0], default: []].append(Device(row, at: 1)) }
    let blocked = try db.all(
      "SELECT user, other FROM blocks WHERE user IN (\(users))", arguments)
    for row in blocked { blocks[row[0], default: []].insert(UserID(unchecked: row[1])) }
    let left = try db.all(
      """
      SELECT members.user, rooms.name FROM members INDEXED BY members_withdrawn JOIN rooms ON rooms.id = members.room
      WHERE members.user IN (\(users)) AND members.is_withdrawn
      """,
      arguments)
    for row in left { withdrawn[row[0], default: []].insert(RoomID(unchecked: row[1])) }
  }

  /// - Parameter row: Begins with id, name, display_name, avatar, last_seen, preferences.
  func user(_ row: Row) throws -> UserRecord {
    let id: Int64 = row[0]
    return UserRecord(
      user: User(id: UserID(unchecked: row[1]), name: row[2], avatar: row[3]),
      lastSeen: row.time(4), focus: focus[id] ?? [], devices: devices[id] ?? [], filters: filters[id] ?? [],
      preferences: try row.preferences(5), blocks: blocks[id] ?? [], withdrawn: withdrawn[id] ?? [])
  }
}

extension Row {
  func preferences(_ index: Int) throws -> Preferences {
    try json(index, "a user's preferences") ?? Preferences()
  }
}

extension FocusRecord {
  fileprivate static let columns = "device, is_focused, authorization, at, number, source, received, since, settles"

  /// - Parameter row: user, and the columns.
  fileprivate init(_ row: Row) throws {
    self.init(
      device: DeviceID(unchecked: row[1]), isFocused: row[2], authorization: try row.choice(3),
      at: Timestamp(rawValue: row[4]), number: row[5], source: row[6] == nil ? nil : try row.choice(6),
      heard: Timestamp(rawValue: row[7]), since: row.time(8), settles: row.time(9))
  }
}

extension FilterRecord {
  fileprivate static let columns = "device, is_active, allow, at, number, received"

  /// - Parameter row: user, and the columns.
  fileprivate init(_ row: Row) throws {
    self.init(
      device: DeviceID(unchecked: row[1]), isActive: row[2], allow: try row.json(3, "a filter's criteria") ?? [],
      at: Timestamp(rawValue: row[4]), number: row[5], heard: Timestamp(rawValue: row[6]))
  }
}

extension Device {
  static let columns = """
    devices.device, app, devices.platform, devices.token, voip_token, criteria, allows_alerts, allows_time_sensitive,
    locale, time_zone, environment, topic
    """

  /// - Parameter first: The index of the first of the columns.
  init(_ row: Row, at first: Int) throws {
    self.init(
      id: DeviceID(unchecked: row[first]), app: row[first + 1], platform: try row.choice(first + 2),
      token: row[first + 3], voipToken: row[first + 4], criteria: row[first + 5], allowsAlerts: row[first + 6],
      allowsTimeSensitive: row[first + 7], locale: row[first + 8], timeZone: row[first + 9],
      environment: (row[first + 10] as String?).flatMap(PushEnvironment.init(rawValue:)), topic: row[first + 11])
  }
}
