// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

extension Transaction {
  /// Valid report keys of one device. A key that the app could not save (a lost reply) does not invalidate the key that
  /// an extension uses.
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
}

extension Reader {
  /// The device that a report key belongs to; nil if the key is unknown or was revoked.
  public func deviceOfReportKey(hash: [UInt8]) throws -> (user: UserID, device: DeviceID)? {
    let row = try db.first(
      "SELECT users.name, device FROM report_keys JOIN users ON users.id = user WHERE hash = ?",
      [Data(hash)])
    return row.map { (UserID(unchecked: $0[0]), DeviceID(unchecked: $0[1])) }
  }

  /// True if the push `id` is addressed to this device.
  public func isPush(_ id: String, to device: DeviceID, of user: UserID) throws -> Bool {
    try db.has(
      """
      SELECT 1 FROM jobs JOIN users ON users.id = jobs.user
extension Transaction {
  /// Revokes the report keys of all devices of a user.
  public func revokeReportKeys(of user: UserID) throws {
    guard let id = try row(of: user) else { return }
    try db.run("DELETE FROM report_keys WHERE user = ?", [id])
  }
}

      WHERE jobs.id = ? AND users.name = ? AND jobs.device = ?
      """,
      [id, user.rawValue, device.rawValue])
  }
}
