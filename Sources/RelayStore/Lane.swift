// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Jobs that wait for the same: the devices of one gateway and, where apps have credentials of their own, of one app.
public struct Lane: Hashable, Sendable {
  public let platform: Platform
  public let app: String?

  public init(of device: Device) { self.init(device.platform, app: device.app) }

  private init(_ platform: Platform, app: String?) {
    self.platform = platform
    self.app = platform == .apns || platform == .http ? app : nil
  }

  /// Of the device of a row of `jobs`, named `job`.
  static let columns = """
    (SELECT devices.platform FROM devices WHERE devices.user = job.user AND devices.device = job.device),
    (SELECT devices.app FROM devices WHERE devices.user = job.user AND devices.device = job.device)
    """

  /// nil: the device is not registered any more, or cannot be read.
  init?(_ row: Row, at first: Int) {
    guard let platform = (row[first] as String?).flatMap(Platform.init(rawValue:)) else { return nil }
    self.init(platform, app: row[first + 1])
  }
}
