// SPDX-License-Identifier: Apache-2.0

/// The newest focus report of a device, as the relay stores it.
public struct FocusRecord: Equatable, Sendable {
  public var device: DeviceID
  /// Is `nil` if the device does not report it.
  public var isFocused: Bool?
  public var authorization: FocusAuthorization
  /// The device's time of the report, or the time of arrival if the report has none.
  public var at: Timestamp
  public var number: Int64?
  public var source: FocusSource?
  /// The time of arrival of the newest report of this device.
  public var received: Timestamp
  /// The time since which the user has been focused on this or another device without a break. Is `nil` unless the
  /// device counts as focused.
  public var since: Timestamp?
  /// The time until which the device still counts as focused, although ``isFocused`` is false. Is `nil` if
  /// ``isFocused`` counts as it is.
  public var settles: Timestamp?
  /// The sum of the steps of the wall clock when the report was applied. ``at``, ``received`` and ``settles`` are times
  /// of the wall clock without the later steps.
  public var steps: Duration

  public init(
    device: DeviceID, isFocused: Bool?, authorization: FocusAuthorization, at: Timestamp, number: Int64?,
    source: FocusSource?, received: Timestamp, since: Timestamp? = nil, settles: Timestamp? = nil,
    steps: Duration = .zero
  ) {
    self.device = device
    self.isFocused = isFocused
    self.authorization = authorization
    self.at = at
    self.number = number
    self.source = source
    self.received = received
    self.since = since
    self.settles = settles
    self.steps = steps
  }
}
