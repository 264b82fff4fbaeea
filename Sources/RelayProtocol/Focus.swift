// SPDX-License-Identifier: Apache-2.0

/// May an app read Focus status on this device: `INFocusStatusAuthorizationStatus` and what a platform
/// without Focus says.
public enum FocusAuthorization: String, Sendable, CaseIterable {
  case authorized, denied, restricted, notDetermined, notSupported
}

/// Who made a report; shown in explanations only.
public enum FocusSource: String, Sendable, Codable, CaseIterable {
  /// The `INShareFocusStatusIntent` handler.
  case intent
  /// `INFocusStatusCenter`, read by the app.
  case center
  /// A switch in an app.
  case manual
}

/// What one device says about notifications being silenced there.
public struct FocusReport: Equatable, Sendable {
  public var device: DeviceID
  /// nil: not told. false: no Focus shared with this app silences it.
  public var isFocused: Bool?
  public var authorization: FocusAuthorization
  /// The device's time; nil: now.
  public var at: Timestamp?
  /// A counter of the device, which orders its reports.
  public var number: Int64?
  public var source: FocusSource?

  public init(
    device: DeviceID = .default, isFocused: Bool?, authorization: FocusAuthorization = .authorized,
    at: Timestamp? = nil, number: Int64? = nil, source: FocusSource? = nil
  ) {
    self.device = device
    self.isFocused = isFocused
    self.authorization = authorization
    self.at = at
    self.number = number
    self.source = source
  }
}
