// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Registers and deletes devices and their keys.
public struct DeviceWriter: TransactionPart {
  let transaction: Transaction

  /// Registers a device, or renews its registration.
  ///
  /// A token, for calls or not, belongs to one device of one user. Another device with this token is deleted, with its
  /// unfinished jobs. The unfinished jobs of the device itself use its new token. The numbers of its last reports about
  /// focus and filter are deleted, because a reinstalled app counts from the start.
  /// - Returns: The devices that lost the token.
  @discardableResult
  public func register(
    _ device: Device, of user: UserID, now: Timestamp
  ) throws -> [(user: UserID, device: DeviceID)] {
    let id = try needRow(of: user)
    let former = try db.all(
      """
      SELECT users.id, users.name, device FROM devices JOIN users ON users.id = user
      WHERE (token = ?1 AND platform = ?2 OR voip_token = ?3 AND platform = ?2) AND NOT (user = ?4 AND device = ?5)
      """,
      [device.token, device.platform.rawValue, device.voipToken, id, device.id.rawValue])
    for row in former { try remove(row["device"], ofRow: row["id"]) }
    let (lane, formerLane) = (Lane(of: device), try transaction.queue.lane(of: device.id.rawValue, ofRow: id))
    try db.run(
      """
      INSERT INTO devices
        (user, device, app, platform, token, registered, voip_token, criteria, allows_alerts, allows_time_sensitive,
          locale, time_zone, environment, topic)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (user, device) DO UPDATE SET app = excluded.app, platform = excluded.platform,
        token = excluded.token, registered = excluded.registered, voip_token = excluded.voip_token,
        criteria = excluded.criteria, allows_alerts = excluded.allows_alerts,
        allows_time_sensitive = excluded.allows_time_sensitive, locale = excluded.locale,
        time_zone = excluded.time_zone, environment = excluded.environment, topic = excluded.topic
      """,
      [
        id, device.id.rawValue, device.app, device.platform.rawValue, device.token, now.rawValue, device.voipToken,
        device.criteria, device.allowsAlerts, device.allowsTimeSensitive, device.locale, device.timeZone,
        device.environment?.rawValue, device.topic,
      ])
    if let formerLane, formerLane != lane { try transaction.queue.setLane(lane, of: device.id.rawValue, ofRow: id) }
    try transaction.updates.alive(device.id, of: user)
    for table in ["focus", "filters"] {
      try db.run("UPDATE \(table) SET number = NULL WHERE user = ? AND device = ?", [id, device.id.rawValue])
    }
    return former.map { (UserID(unchecked: $0["name"]), DeviceID(unchecked: $0["device"])) }
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
    try db.run("DELETE FROM devices WHERE user = ? AND device = ?", [user, device])
    guard db.changesCount == 1 else { return false }
    try db.run("DELETE FROM jobs WHERE \(Schema.updates) AND user = ? AND device = ?", [user, device])
    try db.run("DELETE FROM removals WHERE user = ? AND device = ?", [user, device])
    try transaction.queue.abandonJobs("user = ? AND device = ?", [user, device], note: "no device")
    return true
  }
}
