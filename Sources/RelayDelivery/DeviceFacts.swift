// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A registered device: the permissions of the device and its app, the last report about its own Focus, and the user's
/// quiet hours in its time zone.
public struct DeviceFacts: Equatable, Sendable, Codable {
  /// False if the device has reported that alerts are off for the app.
  public var allowsAlerts = true
  public var hasVoIPToken = false
  /// True if the device has a VoIP token that the relay does not use, because the app has no entitlement for VoIP. Is
  /// absent in facts that an older relay stored.
  public var lacksVoIPEntitlement: Bool?
  /// False if the device has reported that they are off for the app, or if the app has no entitlement for them.
  public var allowsTimeSensitive = true
  /// False if the app has no entitlement for them.
  public var allowsCritical = true
  /// The first moment at which the device's own `isFocused: true` has expired. The device is not focused if this is
  /// `nil` or not after now.
  public var focusedUntil: Timestamp?
  /// The source of the last Focus report, for explanations only. Is `nil` when the device has not named one.
  public var focusSource: FocusSource?
  /// Is `nil` when no filter is active.
  public var filter: FilterFacts?
  /// The user's quiet hours that are on now at the device. Is `nil` when none are on.
  public var quiet: ActiveQuietHours?
  /// The label of the account on the device.
  public var criteria: String?
}

/// Quiet hours that are on.
public struct ActiveQuietHours: Equatable, Sendable, Codable {
  public var mode: SilenceMode
  /// The first moment after the quiet hours.
  public var until: Timestamp
}

/// The filter of a device's Focus.
public struct FilterFacts: Equatable, Sendable, Codable {
  /// The criteria that the filter passes.
  public var allow: [String]
  /// The first moment at which the filter has expired.
  public var until: Timestamp

  /// True if the filter passes a push. A push without criteria passes every filter.
  public func passes(_ criteria: String?) -> Bool { criteria.map(allow.contains) ?? true }
}
