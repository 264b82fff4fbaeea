// SPDX-License-Identifier: Apache-2.0

/// What is kept of one device's newest focus report.
public struct FocusRecord: Equatable, Sendable {
  public var device: DeviceID
  /// nil: not told.
  public var isFocused: Bool?
  public var authorization: FocusAuthorization
  /// The device's time of the report; the time of arrival where it told none.
  public var at: Timestamp
  public var number: Int64?
  public var source: FocusSource?
  /// The time of arrival of the newest report of this device.
  public var received: Timestamp
  /// When the unbroken truth began that this device is a part of; nil unless it counts as true.
  public var since: Timestamp?
  /// ``isFocused`` is false, but until this time it still counts as true; nil: it counts as it is.
  public var settles: Timestamp?

  public init(
    device: DeviceID, isFocused: Bool?, authorization: FocusAuthorization, at: Timestamp, number: Int64?,
    source: FocusSource?, received: Timestamp, since: Timestamp? = nil, settles: Timestamp? = nil
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
  }
}
