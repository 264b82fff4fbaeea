// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The result for a token that a gateway has refused.
public enum Forgetting: Equatable, Sendable {
  /// No device has the token, or the device registered it after the refusal.
  case none
  /// The device, or its token for calls, was deleted.
  case forgotten(of: UserID)
  /// The token stays, because the relay has deleted too many tokens of its scope. It deletes none of them until this
  /// time.
  case kept(until: Timestamp)
}

/// The devices that one limit counts together.
public enum ForgettingScope: Sendable {
  /// The devices of the same app, or all devices that name no app.
  case app
  /// All devices. The relay uses this scope if clients may name any app, because many app names must not raise the
  /// limit.
  case everything
}

/// Deletes tokens that gateways refuse, but not too many at once, because then the gateway is probably at fault.
extension DeviceWriter {
  /// The number of an app's tokens that the relay may always delete within ``forgettingHour``.
  public static let minForgotten = 20
  /// The inverse of the share of an app's devices that the relay may delete within ``forgettingHour``, if this is a
  /// larger number.
  public static let forgottenShare = 20
  public static let forgettingHour = Duration.seconds(3600)

  /// Deletes the device whose token a gateway has refused, if the device registered before `time`.
  /// - Parameters:
  ///   - time: Is `nil` when the time of the registration does not matter.
  ///   - pause: The end of a known pause, in which nothing is deleted or counted.
  @discardableResult
  public func forget(
    token: String, platform: Platform, registeredBefore time: Timestamp? = nil, in scope: ForgettingScope = .app,
    pausedUntil pause: Timestamp? = nil
  ) throws -> Forgetting {
    let row = try db.first(
      """
      SELECT users.id, users.name, device, app FROM devices JOIN users ON users.id = user
      WHERE token = ?1 AND platform = ?2 AND (?3 IS NULL OR registered < ?3)
      """,
      [token, platform.rawValue, time?.rawValue])
    return try forget(row, in: scope, pausedUntil: pause) { try remove($0["device"], ofRow: $0["id"]) }
  }

  /// Deletes only a token for calls, if it was registered before `time`.
  @discardableResult
  public func forget(
    voipToken: String, platform: Platform, registeredBefore time: Timestamp, in scope: ForgettingScope = .app,
    pausedUntil pause: Timestamp? = nil
  ) throws -> Forgetting {
    let row = try db.first(
      """
      SELECT users.id, users.name, device, app FROM devices JOIN users ON users.id = user
      WHERE voip_token = ? AND platform = ? AND registered < ?
      """,
      [voipToken, platform.rawValue, time.rawValue])
    return try forget(row, in: scope, pausedUntil: pause) {
      try db.run(
        "UPDATE devices SET voip_token = NULL WHERE user = ? AND device = ?",
        [$0["id"] as Int64, $0["device"] as String])
    }
  }

  /// - Parameter row: The device with its row id, user name, device id and app. Is `nil` when the device does not
  ///   exist.
  private func forget(
    _ row: Row?, in scope: ForgettingScope, pausedUntil pause: Timestamp?, _ work: (Row) throws -> Void
  ) throws -> Forgetting {
    guard let row else { return .none }
    let app: String = row["app"] ?? ""
    if let end = try pause ?? forgettingPause(of: scope == .app ? app : nil) { return .kept(until: end) }
    try db.run("INSERT INTO forgotten (app, time) VALUES (?, ?)", [app, now.rawValue])
    try work(row)
    return .forgotten(of: UserID(unchecked: row["name"]))
  }

  /// The end of the pause in which no token is deleted. Is `nil` without a pause.
  /// - Parameter app: Is `nil` for all apps together.
  func forgettingPause(of app: String?) throws -> Timestamp? {
    let start = (now - Self.forgettingHour).rawValue
    let condition = app == nil ? "time > ?" : "time > ? AND app = ?"
    let arguments = StatementArguments([start]) + (app.map { [$0] } ?? [])
    let count: Int = try db.first("SELECT count(*) FROM forgotten WHERE \(condition)", arguments)?[0] ?? 0
    guard count >= Self.minForgotten else { return nil }
    let left =
      if let app {
        try db.first("SELECT count(*) FROM devices WHERE coalesce(app, '') = ?", [app])
      } else {
        try db.first("SELECT count(*) FROM devices")
      }
    let allowed = max(Self.minForgotten, ((left?[0] ?? 0) + count) / Self.forgottenShare)
    guard count >= allowed else { return nil }
    let first = try db.first(
      "SELECT time FROM forgotten WHERE \(condition) ORDER BY time LIMIT 1 OFFSET ?", arguments + [count - allowed])
    return first?.time("time").map { $0 + Self.forgettingHour }
  }

  /// Deletes the counts that are older than ``forgettingHour``.
  public func purgeForgotten() throws {
    try db.run("DELETE FROM forgotten WHERE time <= ?", [(now - Self.forgettingHour).rawValue])
  }
}
