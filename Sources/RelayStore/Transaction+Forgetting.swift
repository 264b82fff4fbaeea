// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Tokens that gateways refuse go, but not of too many devices at once: then it is rather the gateway that errs.
extension Transaction {
  /// How many of an app's tokens go within ``forgettingHour`` at least, before forgetting pauses.
  public static let leastForgotten = 20
  /// The share of an app's devices that may go where that is more, as its inverse.
  public static let forgottenShare = 20
  public static let forgettingHour = Duration.seconds(3600)

  /// Until when no token of an app is forgotten; nil: the next one is.
  /// - Parameter app: nil: that of devices that name none.
  public func forgettingPause(of app: String?) throws -> Timestamp? {
    let app = app ?? ""
    try db.run("DELETE FROM forgotten WHERE app = ? AND time <= ?", [app, (now - Self.forgettingHour).rawValue])
    let count: Int = try db.first("SELECT count(*) FROM forgotten WHERE app = ?", [app])?[0] ?? 0
    guard count >= Self.leastForgotten else { return nil }
    let left: Int = try db.first("SELECT count(*) FROM devices WHERE coalesce(app, '') = ?", [app])?[0] ?? 0
    let most = max(Self.leastForgotten, (left + count) / Self.forgottenShare)
    guard count >= most else { return nil }
    let first = try db.first(
      "SELECT time FROM forgotten WHERE app = ? ORDER BY time LIMIT 1 OFFSET ?", [app, count - most])
    return first?.time(0).map { $0 + Self.forgettingHour }
  }

  /// Forgets the device whose token a gateway has refused, if it registered before `time`, or at any time without one.
  /// - Returns: Whose it was; nil when no such device is registered any more, or forgetting pauses.
  @discardableResult
  public func forget(
    token: String, platform: Platform, registeredBefore time: Timestamp? = nil
  ) throws -> (user: UserID, device: DeviceID)? {
    let row = try db.first(
      """
      SELECT users.id, users.name, device, app FROM devices JOIN users ON users.id = user
      WHERE token = ?1 AND platform = ?2 AND (?3 IS NULL OR registered < ?3)
      """,
      [token, platform.rawValue, time?.rawValue])
    guard let row, try mayForget(of: row[3]) else { return nil }
    try remove(row[2], ofRow: row[0])
    return (UserID(unchecked: row[1]), DeviceID(unchecked: row[2]))
  }

  /// Forgets a token for calls, and nothing else, if it was registered before `time`.
  /// - Returns: Whose it was; nil when no such device has it any more, or forgetting pauses.
  public func forget(
    voipToken: String, platform: Platform, registeredBefore time: Timestamp
  ) throws -> (user: UserID, device: DeviceID)? {
    let row = try db.first(
      """
      SELECT users.id, users.name, device, app FROM devices JOIN users ON users.id = user
      WHERE voip_token = ? AND platform = ? AND registered < ?
      """,
      [voipToken, platform.rawValue, time.rawValue])
    guard let row, try mayForget(of: row[3]) else { return nil }
    try db.run(
      "UPDATE devices SET voip_token = NULL WHERE user = ? AND device = ?", [row[0] as Int64, row[2] as String])
    return (UserID(unchecked: row[1]), DeviceID(unchecked: row[2]))
  }

  /// And counts it.
  private func mayForget(of app: String?) throws -> Bool {
    guard try forgettingPause(of: app) == nil else { return false }
    try db.run("INSERT INTO forgotten (app, time) VALUES (?, ?)", [app ?? "", now.rawValue])
    return true
  }
}
