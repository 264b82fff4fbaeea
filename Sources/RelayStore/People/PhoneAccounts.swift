// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The device of a user, by its names.
public struct DeviceName: Hashable, Sendable {
  public let user: UserID
  public let device: DeviceID
}

/// The accounts of one phone: the devices of several users of one app that share a push token or a VoIP token.
///
/// The Focus, the filter and the permissions belong to the phone, so that a report of one account counts for all. The
/// type of the same name in `StillwireExtension` is the state of the phone, and not related.
struct PhoneAccounts {
  let db: Database

  /// Another device with one of the tokens.
  struct Account {
    let row: Int64
    let name: DeviceName
    let app: String?
    /// The time of the registration by the stepless clock, so that it only orders accounts.
    let registered: Timestamp
  }

  /// The other devices with one of the tokens, those that registered longest ago first.
  func others(than device: String, ofRow user: Int64, _ tokens: Tokens) throws -> [Account] {
    let found = try db.all(
      """
      SELECT users.id, users.name, device, app, registered - steps AS registered
      FROM devices JOIN users ON users.id = user
      WHERE (token = ?1 AND platform = ?2 OR voip_token = ?3 AND platform = ?2) AND NOT (user = ?4 AND device = ?5)
      """,
      [tokens.token, tokens.platform, tokens.voipToken, user, device]
    ) { row in
      Account(
        row: row["id"],
        name: DeviceName(user: UserID(unchecked: row["name"]), device: DeviceID(unchecked: row["device"])),
        app: row["app"], registered: row.timestamp("registered"))
    }
    return found.sorted { ($0.registered, $0.name.user) < ($1.registered, $1.name.user) }
  }

  struct Tokens {
    let platform: String
    let token: String
    let voipToken: String?
  }

  /// The tables of reports that belong to the phone, with the columns to copy. The column `number` is not copied,
  /// because each account numbers its own reports.
  static let reports = [
    (
      table: "focus", columns: ["is_focused", "authorization", "at", "source", "received", "since", "settles", "steps"]
    ),
    (table: "filters", columns: ["is_active", "allow", "at", "received", "steps"]),
  ]

  /// Copies the newest report of the other accounts to a device, unless its own report is as new. The times are those
  /// of the stepless clock.
  func inherit(
    _ report: (table: String, columns: [String]), from others: [Account], to device: String, ofRow user: Int64
  ) throws {
    let (table, columns) = report
    let time = "SELECT at - steps AS at FROM \(table) WHERE user = ? AND device = ?"
    let reports = try others.compactMap { other in
      try db.first(time, [other.row, other.name.device.rawValue]) { (account: other, at: $0["at"] as Int64) }
    }
    guard let newest = reports.max(by: { $0.at < $1.at }) else { return }
    let own = try db.first(time, [user, device]) { $0["at"] as Int64 }
    if let own, own >= newest.at { return }
    let list = columns.joined(separator: ", ")
    try db.run(
      """
      INSERT OR REPLACE INTO \(table) (user, device, \(list))
      SELECT ?1, ?2, \(list) FROM \(table) WHERE user = ?3 AND device = ?4
      """,
      [user, device, newest.account.row, newest.account.name.device.rawValue])
  }
}

extension PhoneAccounts {
  /// Copies what the phone shows from another account to a device.
  func inheritScreen(from other: Account, to device: String, ofRow user: Int64) throws {
    let columns = "badge, badged, woken, alert_job, alert_kept"
    try db.run(
      """
      UPDATE devices SET (\(columns)) = (SELECT \(columns) FROM devices WHERE user = ?3 AND device = ?4)
      WHERE user = ?1 AND device = ?2
      """,
      [user, device, other.row, other.name.device.rawValue])
  }
}

extension PeopleReader {
  /// The devices of other users that are accounts of the same phone: they have the token, or the token for calls, of
  /// this device. Empty for a device that is not registered.
  public func accounts(beside device: DeviceID, of user: UserID) throws -> [DeviceName] {
    let own = try db.first(
      """
      SELECT users.id, platform, token, voip_token FROM users JOIN devices ON devices.user = users.id
      WHERE users.name = ? AND devices.device = ?
      """,
      [user.rawValue, device.rawValue]
    ) {
      (
        user: $0["id"] as Int64,
        tokens: PhoneAccounts.Tokens(platform: $0["platform"], token: $0["token"], voipToken: $0["voip_token"])
      )
    }
    guard let own else { return [] }
    return try PhoneAccounts(db: db).others(than: device.rawValue, ofRow: own.user, own.tokens).map(\.name)
  }
}
