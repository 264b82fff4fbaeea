// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// The device that a report key belongs to.
public struct ReportKeyOwner: Equatable, Sendable {
  public let user: UserID
  public let device: DeviceID
  /// The claim `rooms` of the user's newest token, as it was stored.
  public var grants: [UInt8]?
}

extension DeviceWriter {
  /// The maximum number of valid report keys of one device. It is above 1, because a new key that never reached the app
  /// (a lost reply) must not invalidate the key that an extension uses.
  public static let maxReportKeys = 4

  /// Stores the hash of a new report key of a registered device, and deletes the oldest keys beyond ``maxReportKeys``.
  public func addReportKey(hash: [UInt8], for device: DeviceID, of user: UserID) throws {
    let id = try needRow(of: user)
    try db.run(
      "INSERT INTO report_keys (hash, user, device) VALUES (?, ?, ?)", [Data(hash), id, device.rawValue])
    try db.run(
      """
      DELETE FROM report_keys WHERE id IN (
        SELECT id FROM report_keys WHERE user = ? AND device = ? ORDER BY id DESC LIMIT -1 OFFSET ?)
      """,
      [id, device.rawValue, Self.maxReportKeys])
  }

  /// Revokes all report keys of a device.
  /// - Returns: False if the device is not registered.
  public func revokeReportKeys(of device: DeviceID, of user: UserID) throws -> Bool {
    guard let id = try row(of: user) else { return false }
    try db.run("DELETE FROM report_keys WHERE user = ? AND device = ?", [id, device.rawValue])
    return try db.has("SELECT 1 FROM devices WHERE user = ? AND device = ?", [id, device.rawValue])
  }

  /// Revokes the report keys of all devices of a user.
  public func revokeReportKeys(of user: UserID) throws {
    guard let id = try row(of: user) else { return }
    try db.run("DELETE FROM report_keys WHERE user = ?", [id])
  }
}
