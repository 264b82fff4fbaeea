// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// A user, without the data of a room.
public struct UserRecord: Equatable, Sendable {
  public var user: User
  public var lastSeen: Timestamp?
  /// Is `nil` if the user is stored as offline.
  public var activity: Activity?
  public var focus: [FocusRecord] = []
  public var devices: [Device] = []
  public var filters: [FilterRecord] = []
  public var preferences = Preferences()
  /// The users whom this user has blocked.
  public var blocks: Set<UserID> = []
  /// The rooms of the user in which the newest token does not give the right `join`.
  public var withdrawn: Set<RoomID> = []
  /// It may have ended.
  public var status: UserStatus?
}

extension UserRecord {
  /// A user about whom nothing is stored.
  public init(_ user: User) { self.init(user: user, lastSeen: nil) }

  /// The columns of `users` that a record needs.
  static let columns = """
    users.id, users.name, users.display_name, users.avatar, users.last_seen, users.activity, users.preferences,
    users.status
    """

  /// A record without the ``UserDetails``.
  /// - Parameter row: Has the ``columns``.
  init(_ row: Row) throws {
    let status: UserStatus? = try row.json("status", "a user's status")
    self.init(
      user: User(id: UserID(unchecked: row["name"]), name: row.line("display_name"), avatar: row["avatar"]),
      lastSeen: row.time("last_seen"), activity: try row.choiceIfAny("activity"), preferences: try row.preferences(),
      status: status?.asLine)
  }
}

/// The reports, devices and blocks of many users, by the users' row ids.
struct UserDetails {
  private var focus: [Int64: [FocusRecord]] = [:]
  private var filters: [Int64: [FilterRecord]] = [:]
  private var devices: [Int64: [Device]] = [:]
  private var blocks: [Int64: Set<UserID>] = [:]
  private var withdrawn: [Int64: Set<RoomID>] = [:]

  /// The maximum number of users that are read one by one. For a longer list SQLite builds a temporary table in each
  /// query, which costs more than a few queries.
  private static let maxSingle = 4

  /// - Parameter users: Row ids.
  init(_ db: Database, of users: [Int64]) throws {
    if users.count <= Self.maxSingle {
      for user in users { try read(db, "= ?", [user]) }
    } else {
      let list = "[" + users.map(String.init).joined(separator: ",") + "]"
      try read(db, "IN (SELECT value FROM json_each(?))", [list])
    }
  }

  /// - Parameter users: The condition on a row id of a user.
  private mutating func read(_ db: Database, _ users: String, _ arguments: StatementArguments) throws {
    func read<Record>(
      _ columns: String, _ table: String, into records: inout [Int64: [Record]], _ decode: (Row) throws -> Record
    ) throws {
      let found = try db.all(
        "SELECT user, \(columns) FROM \(table) WHERE user \(users) ORDER BY user, device", arguments
      ) { (user: $0["user"] as Int64, record: try decode($0)) }
      for (user, record) in found { records[user, default: []].append(record) }
    }
    try read(FocusRecord.columns, "focus", into: &focus, FocusRecord.init(_:))
    try read(FilterRecord.columns, "filters", into: &filters, FilterRecord.init(_:))
    try read(Device.columns, "devices", into: &devices, Device.init(_:))
    let blocked = try db.all(
      "SELECT user, other FROM blocks WHERE user \(users)", arguments
    ) { (user: $0["user"] as Int64, other: UserID(unchecked: $0["other"])) }
    for (user, other) in blocked { blocks[user, default: []].insert(other) }
    let left = try db.all(
      """
      SELECT members.user, rooms.name AS room FROM members INDEXED BY members_withdrawn JOIN rooms ON rooms.id = members.room
      WHERE members.user \(users) AND members.is_withdrawn
      """,
      arguments
    ) { (user: $0["user"] as Int64, room: RoomID(unchecked: $0["room"])) }
    for (user, room) in left { withdrawn[user, default: []].insert(room) }
  }

  /// Adds the details to the record of a user.
  /// - Parameter id: The row id of the user.
  func complete(_ record: inout UserRecord, _ id: Int64) {
    (record.focus, record.devices, record.filters) = (focus[id] ?? [], devices[id] ?? [], filters[id] ?? [])
    (record.blocks, record.withdrawn) = (blocks[id] ?? [], withdrawn[id] ?? [])
  }
}

extension Row {
  /// The value of the column `preferences`.
  func preferences() throws -> Preferences {
    try json("preferences", "a user's preferences") ?? Preferences()
  }
}

extension FocusRecord {
  fileprivate static let columns =
    "device, is_focused, authorization, at, number, source, received, since, settles, steps"

  /// - Parameter row: Has the ``columns``.
  fileprivate init(_ row: Row) throws {
    self.init(
      device: DeviceID(unchecked: row["device"]), isFocused: row["is_focused"],
      authorization: try row.choice("authorization"), at: row.timestamp("at"), number: row["number"],
      source: row["source"] == nil ? nil : try row.choice("source"), received: row.timestamp("received"),
      since: row.time("since"), settles: row.time("settles"), steps: .milliseconds(row["steps"] as Int64))
  }
}

extension FilterRecord {
  fileprivate static let columns = "device, is_active, allow, at, number, received, steps"

  /// - Parameter row: Has the ``columns``.
  fileprivate init(_ row: Row) throws {
    self.init(
      device: DeviceID(unchecked: row["device"]), isActive: row["is_active"],
      allow: try row.json("allow", "a filter's criteria") ?? [], at: row.timestamp("at"), number: row["number"],
      received: row.timestamp("received"), steps: .milliseconds(row["steps"] as Int64))
  }
}

extension Device {
  /// Columns of `devices`.
  static let columns = """
    devices.device AS device_id, devices.app AS device_app, devices.platform AS device_platform,
    devices.token AS device_token, devices.voip_token AS device_voip_token, devices.criteria AS device_criteria,
    devices.allows_alerts AS device_allows_alerts, devices.allows_time_sensitive AS device_allows_time_sensitive,
    devices.locale AS device_locale, devices.time_zone AS device_time_zone,
    devices.environment AS device_environment, devices.topic AS device_topic,
    devices.registered AS device_registered
    """

  /// - Parameter row: Has the ``columns``.
  init(_ row: Row) throws {
    let environment: String? = row["device_environment"]
    self.init(
      id: DeviceID(unchecked: row["device_id"]), app: row["device_app"], platform: try row.choice("device_platform"),
      token: row["device_token"], voipToken: row["device_voip_token"], criteria: row["device_criteria"],
      allowsAlerts: row["device_allows_alerts"], allowsTimeSensitive: row["device_allows_time_sensitive"],
      locale: row["device_locale"], timeZone: row["device_time_zone"],
      environment: environment.flatMap(PushEnvironment.init(rawValue:)), topic: row["device_topic"])
    registered = row.timestamp("device_registered")
  }

  /// The device of an outer join. Is `nil` when the join found none.
  init?(ifAny row: Row) throws {
    guard (row["device_id"] as String?) != nil else { return nil }
    try self.init(row)
  }
}
