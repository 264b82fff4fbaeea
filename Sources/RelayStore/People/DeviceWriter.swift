// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Registers and deletes devices and their keys.
public struct DeviceWriter: TransactionPart {
  let transaction: Transaction

  /// The changes of a registration to other devices.
  public struct Registration: Equatable, Sendable {
    /// The devices that have ended.
    public var ended: [DeviceName] = []
    /// The other users whose devices have new permissions.
    public var changed: [UserID] = []
  }

  /// Registers a device, or renews its registration.
  ///
  /// A push token or VoIP token belongs to one app, and to one device of each of ``Device/maxAccounts`` users: the
  /// accounts of a phone. The registration deletes these other devices with the token, and their unfinished jobs:
  /// - another device of the same user
  /// - a device of another app
  /// - the accounts that registered longest ago, beyond ``Device/maxAccounts``
  ///
  /// The permissions of the registration count for all accounts of the phone. The device gets the newest reports of
  /// Focus and filter of the other accounts. The unfinished jobs of the device itself use its new token. The numbers of
  /// its last reports about focus and filter are deleted, because a reinstalled app counts from the start.
  @discardableResult
  public func register(_ device: Device, of user: UserID, now: Timestamp) throws -> Registration {
    let id = try needRow(of: user)
    let accounts = PhoneAccounts(db: db)
    var others = try accounts.others(
      than: device.id.rawValue, ofRow: id,
      PhoneAccounts.Tokens(
        platform: device.platform.rawValue, token: device.token, voipToken: device.voipToken))
    var ended = others.filter { $0.row == id || $0.app != device.app }
    others.removeAll { $0.row == id || $0.app != device.app }
    let surplus = max(0, others.count - (Device.maxAccounts - 1))
    ended += others.prefix(surplus)
    others.removeFirst(surplus)
    for other in ended { try remove(other.name.device.rawValue, ofRow: other.row) }
    try save(device, ofRow: id, now: now)
    if let newest = others.last { try accounts.inheritScreen(from: newest, to: device.id.rawValue, ofRow: id) }
    try transaction.updates.alive(device.id, of: user)
    for table in ["focus", "filters"] {
      try db.run("UPDATE \(table) SET number = NULL WHERE user = ? AND device = ?", [id, device.id.rawValue])
    }
    for report in PhoneAccounts.reports {
      try accounts.inherit(report, from: others, to: device.id.rawValue, ofRow: id)
    }
    let changed = try others.filter { try permit(device, toRow: $0.row, $0.name.device) }
    return Registration(ended: ended.map(\.name), changed: changed.map(\.name.user))
  }

  private func save(_ device: Device, ofRow user: Int64, now: Timestamp) throws {
    let former = try db.first(
      "SELECT token, platform, criteria FROM devices WHERE user = ? AND device = ?", [user, device.id.rawValue])
    let lane = Lane(of: device)
    let formerLane = try transaction.queue.service(of: device.id.rawValue, ofRow: user)?.lane
    try db.run(
      """
      INSERT INTO devices
        (user, device, app, platform, token, registered, voip_token, criteria, allows_alerts, allows_time_sensitive,
          locale, time_zone, environment, topic, steps)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (user, device) DO UPDATE SET app = excluded.app, platform = excluded.platform,
        token = excluded.token, registered = excluded.registered, voip_token = excluded.voip_token,
        criteria = excluded.criteria, allows_alerts = excluded.allows_alerts,
        allows_time_sensitive = excluded.allows_time_sensitive, locale = excluded.locale,
        time_zone = excluded.time_zone, environment = excluded.environment, topic = excluded.topic,
        steps = excluded.steps
      """,
      [
        user, device.id.rawValue, device.app, device.platform.rawValue, device.token, now.rawValue, device.voipToken,
        device.criteria, device.allowsAlerts, device.allowsTimeSensitive, device.locale, device.timeZone,
        device.environment?.rawValue, device.topic, transaction.steps.milliseconds,
      ])
    if let formerLane, formerLane != lane { try transaction.queue.setLane(lane, of: device.id.rawValue, ofRow: user) }
    guard let former else { return }
    // The label may exclude rooms from the badge.
    if former["criteria"] != device.criteria { try transaction.updates.touch(device.id.rawValue, ofRow: user) }
    guard former["token"] != device.token || former["platform"] != device.platform.rawValue else { return }
    // The service keeps no alert for the new token.
    try db.run(
      "UPDATE devices SET alert_job = NULL, alert_kept = NULL WHERE user = ? AND device = ?",
      [user, device.id.rawValue])
    try transaction.updates.badgeChanged(ofToken: former["token"], platform: former["platform"])
  }

  /// Gives another account of a phone the permissions that the phone has reported.
  /// - Returns: False if the account had them already.
  private func permit(_ device: Device, toRow user: Int64, _ other: DeviceID) throws -> Bool {
    try db.run(
      """
      UPDATE devices SET allows_alerts = ?1, allows_time_sensitive = ?2
      WHERE user = ?3 AND device = ?4 AND (allows_alerts <> ?1 OR allows_time_sensitive <> ?2)
      """,
      [device.allowsAlerts, device.allowsTimeSensitive, user, other.rawValue])
    return db.changesCount == 1
  }

  /// Deletes a device and its reports of focus and filter, and cancels its unfinished jobs.
  /// - Returns: False if the device was not registered.
  @discardableResult
  public func forget(_ device: DeviceID, of user: UserID) throws -> Bool {
    guard let id = try row(of: user) else { return false }
    return try remove(device.rawValue, ofRow: id)
  }

  @discardableResult
  func remove(_ device: String, ofRow user: Int64) throws -> Bool {
    for table in ["focus", "filters"] {
      try db.run("DELETE FROM \(table) WHERE user = ? AND device = ?", [user, device])
    }
    let ended = try db.first(
      "DELETE FROM devices WHERE user = ? AND device = ? RETURNING token, platform", [user, device])
    guard let ended else { return false }
    // The other accounts of the phone show the badge without this one.
    try transaction.updates.badgeChanged(ofToken: ended["token"], platform: ended["platform"])
    try db.run("DELETE FROM jobs WHERE \(Schema.updates) AND user = ? AND device = ?", [user, device])
    try db.run("DELETE FROM removals WHERE user = ? AND device = ?", [user, device])
    try transaction.queue.abandonJobs("user = ? AND device = ?", [user, device], .noDevice)
    return true
  }
}
