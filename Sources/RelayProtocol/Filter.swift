// SPDX-License-Identifier: Apache-2.0

/// What one device says about the filter of its Focus: `INFocusFilter` and its `notificationFilterPredicate`, which
/// reads `SELF IN allow`.
public struct FilterReport: Equatable, Sendable {
  public var device: DeviceID
  /// false: no filter, so all is let through.
  public var isActive: Bool
  /// The criteria that are let through: at most ``mostCriteria`` of at most ``longestCriteria`` bytes.
  public var allow: [String]
  /// The device's time; nil: now.
  public var at: Timestamp?
  /// A counter of the device, which orders its reports of filters.
  public var number: Int64?

  public init(
    device: DeviceID = .default, isActive: Bool, allow: [String] = [], at: Timestamp? = nil, number: Int64? = nil
  ) {
    self.device = device
    self.isActive = isActive
    self.allow = allow
    self.at = at
    self.number = number
  }

  public static let mostCriteria = 64
  public static let longestCriteria = 128
}

/// What is kept of one device's newest report of a filter.
public struct FilterRecord: Equatable, Sendable {
  public var device: DeviceID
  public var isActive: Bool
  /// Empty unless it is active; then nothing that has criteria passes an empty one.
  public var allow: [String]
  /// The device's time of the report; the time of arrival where it told none.
  public var at: Timestamp
  public var number: Int64?
  /// The time of arrival of the newest report of this device.
  public var received: Timestamp

  /// The time from ``at`` for which an active filter counts without a new report.
  public static let lifetime = Duration.seconds(12 * 3600)
  /// The reports of a device expire this time after ``received``.
  public static let silence = Duration.seconds(7 * 24 * 3600)

  public init(
    device: DeviceID, isActive: Bool, allow: [String], at: Timestamp, number: Int64?, received: Timestamp
  ) {
    self.device = device
    self.isActive = isActive
    self.allow = allow
    self.at = at
    self.number = number
    self.received = received
  }
}
