// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// The result for a token that a gateway has refused.
public enum Forgetting: Equatable, Sendable {
  /// No device has the token, or a device registered it after the refusal.
  case none
  /// The devices of these users, sorted by name, or their token for calls, were deleted.
  case forgotten(of: [UserID])
  /// The token stays, because the relay has deleted too many tokens of its scope. It deletes none of them for this
  /// time.
  case kept(for: Duration)
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

  /// Deletes the devices whose token a gateway has refused: one for each account of the phone. Deletes none of them if
  /// one account has registered the token at `time` or later.
  /// - Parameters:
  ///   - time: Is `nil` when the time of the registration does not matter.
  ///   - pause: The remaining time of a known pause, in which nothing is deleted or counted.
  @discardableResult
  public func forget(
    token: String, platform: Platform, registeredBefore time: Timestamp? = nil, in scope: ForgettingScope = .app,
    pausedFor pause: Duration? = nil
  ) throws -> Forgetting {
    try forget("token", token, platform, registeredBefore: time, in: scope, pausedFor: pause) {
      try remove($0["device"], ofRow: $0["id"])
    }
  }

  /// Deletes only a token for calls, if no account has registered it at `time` or later.
  @discardableResult
  public func forget(
    voipToken: String, platform: Platform, registeredBefore time: Timestamp, in scope: ForgettingScope = .app,
    pausedFor pause: Duration? = nil
  ) throws -> Forgetting {
    try forget("voip_token", voipToken, platform, registeredBefore: time, in: scope, pausedFor: pause) {
      try db.run(
        "UPDATE devices SET voip_token = NULL WHERE user = ? AND device = ?",
        [$0["id"] as Int64, $0["device"] as String])
    }
  }

  /// - Parameters:
  ///   - column: The column that has the token.
  ///   - work: Deletes the token of one device, a row with the row id of its user and its device id.
  private func forget(
    _ column: String, _ token: String, _ platform: Platform, registeredBefore time: Timestamp?,
    in scope: ForgettingScope, pausedFor pause: Duration?, _ work: (Row) throws -> Void
  ) throws -> Forgetting {
    let rows = try db.all(
      """
      SELECT users.id, users.name, device, app, registered - steps AS registered
      FROM devices JOIN users ON users.id = user
      WHERE \(column) = ? AND platform = ?
      """,
      [token, platform.rawValue])
    guard let first = rows.first else { return .none }
    if let time, rows.contains(where: { transaction.wallTime($0.timestamp("registered")) >= time }) { return .none }
    // All accounts of a phone are of one app.
    let app: String = first["app"] ?? ""
    if let pause = try pause ?? forgettingPause(of: scope == .app ? app : nil) { return .kept(for: pause) }
    try db.run("INSERT INTO forgotten (app, time) VALUES (?, ?)", [app, steadyNow.rawValue])
    for row in rows { try work(row) }
    return .forgotten(of: rows.map { UserID(unchecked: $0["name"]) }.sorted())
  }

  /// The remaining time of the pause in which no token is deleted. Is `nil` without a pause.
  /// - Parameter app: Is `nil` for all apps together.
  func forgettingPause(of app: String?) throws -> Duration? {
    let start = (steadyNow - Self.forgettingHour).rawValue
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
    return first.map { $0.timestamp("time") + Self.forgettingHour - steadyNow }
  }

  /// Deletes the counts that are older than ``forgettingHour``.
  public func purgeForgotten() throws {
    try db.run("DELETE FROM forgotten WHERE time <= ?", [(steadyNow - Self.forgettingHour).rawValue])
  }
}
