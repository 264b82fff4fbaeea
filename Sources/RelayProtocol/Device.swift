// SPDX-License-Identifier: Apache-2.0

/// Through which gateway a device is reached.
public enum Platform: String, Sendable, CaseIterable {
  case apns, webpush, http, simulator
}

/// A push target: one installation of an app.
public struct Device: Equatable, Sendable {
  public var id: DeviceID
  public var app: String?
  public var platform: Platform
  /// What the gateway knows it by; at most ``longestToken`` bytes.
  public var token: String

  public init(id: DeviceID, app: String? = nil, platform: Platform, token: String) {
    self.id = id
    self.app = app
    self.platform = platform
    self.token = token
  }

  public static let longestToken = 4096
}
