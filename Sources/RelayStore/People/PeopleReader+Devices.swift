// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// A registered device, with the facts that only lists show.
public struct RegisteredDevice: Equatable, Sendable {
  public let device: Device
  /// The time of the newest registration.
  public let registered: Timestamp
  /// The number of valid report keys.
  public let reportKeys: Int
}

extension PeopleReader {
  /// A page of the devices of a user, ordered by their ids.
  /// - Parameter device: The last device of the page before. Is `nil` for the first page.
  public func devices(of user: UserID, after device: DeviceID?, limit: Int) throws -> [RegisteredDevice] {
    try db.all(
      """
      SELECT \(Device.columns), devices.registered,
        (SELECT count(*) FROM report_keys WHERE report_keys.user = devices.user AND report_keys.device = devices.device)
          AS report_keys
      FROM devices WHERE devices.user = (SELECT id FROM users WHERE name = ?) AND devices.device > ?
      ORDER BY devices.device LIMIT ?
      """,
      [user.rawValue, device?.rawValue ?? "", limit]
    ) { row in
      RegisteredDevice(
        device: try Device(row), registered: row.timestamp("registered"), reportKeys: row["report_keys"])
    }
  }
}
