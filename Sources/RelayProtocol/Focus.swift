// SPDX-License-Identifier: Apache-2.0

/// The app's permission to read the Focus status on this device: `INFocusStatusAuthorizationStatus`, or `notSupported`
/// on a platform without Focus.
public enum FocusAuthorization: String, Sendable, CaseIterable {
  case authorized, denied, restricted, notDetermined, notSupported
}

/// The source of a focus report. Only explanations of pushes show it.
public enum FocusSource: String, Sendable, Codable, CaseIterable {
  /// The handler of `INShareFocusStatusIntent`.
  case intent
  /// `INFocusStatusCenter`, read by the app.
  case center
  /// A switch in the app.
  case manual
}

/// The report of a device about its Focus: true if notifications of this app are silenced there.
public struct FocusReport: Equatable, Sendable {
  public var device: DeviceID
  /// False if no Focus that is shared with this app silences it. Is `nil` if the device does not report it.
  public var isFocused: Bool?
  public var authorization: FocusAuthorization
  /// The device's time of the report. Is `nil` for the current time.
  public var at: Timestamp?
  /// A counter of the device, which orders its focus reports.
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
