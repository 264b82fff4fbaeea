// SPDX-License-Identifier: Apache-2.0

/// The report of a device about the filter of its Focus: `INFocusFilter` and its `notificationFilterPredicate`, which
/// reads `SELF IN allow`.
public struct FilterReport: Equatable, Sendable {
  public var device: DeviceID
  /// False if no filter is active, so that all pushes pass.
  public var isActive: Bool
  /// The criteria that pass the filter: at most ``maxCriteria``, each of at most ``maxCriteriaLength`` bytes.
  public var allow: [String]
  /// The device's time of the report. Is `nil` for the current time.
  public var at: Timestamp?
  /// A counter of the device, which orders its filter reports.
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

  public static let maxCriteria = 64
  public static let maxCriteriaLength = 128
}

/// The newest filter report of a device, as the relay stores it.
public struct FilterRecord: Equatable, Sendable {
  public var device: DeviceID
  public var isActive: Bool
  /// The criteria that pass. The list is empty if the filter is inactive. A push without criteria always passes, so an
  /// active filter with an empty list rejects only the pushes that have criteria.
  public var allow: [String]
  /// The device's time of the report, or the time of arrival if the report has none.
  public var at: Timestamp
  public var number: Int64?
  /// The time of arrival of the newest report of this device.
  public var received: Timestamp
  /// See ``FocusRecord/steps``.
  public var steps: Duration

  /// The time after ``at`` for which an active filter counts without a new report.
  public static let lifetime = Duration.seconds(12 * 3600)
  /// The reports of a device expire this time after ``received``.
  public static let silence = Duration.seconds(7 * 24 * 3600)

  public init(
    device: DeviceID, isActive: Bool, allow: [String], at: Timestamp, number: Int64?, received: Timestamp,
    steps: Duration = .zero
  ) {
    self.device = device
    self.isActive = isActive
    self.allow = allow
    self.at = at
    self.number = number
    self.received = received
    self.steps = steps
  }
}
