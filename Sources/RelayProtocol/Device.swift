// SPDX-License-Identifier: Apache-2.0

/// The type of the gateway that delivers pushes to a device.
public enum Platform: String, Sendable, CaseIterable {
  case apns, webpush, http, simulator
}

/// One of Apple's two push services. Each token is valid for one of them.
public enum PushEnvironment: String, Sendable, CaseIterable {
  case production, sandbox

  public var other: Self { self == .production ? .sandbox : .production }
}

/// A push target: one installation of an app.
public struct Device: Equatable, Sendable {
  public var id: DeviceID
  public var app: String?
  public var platform: Platform
  /// The address of the device at its gateway, at most ``maxTokenLength`` bytes: a token, or a browser's subscription.
  public var token: String
  /// The token for VoIP pushes, at most ``maxTokenLength`` bytes.
  public var voipToken: String?
  /// The push service that issued the token. Is `nil` if the app has not named it.
  public var environment: PushEnvironment?
  /// The bundle id. It is needed if the configuration of the app has several.
  public var topic: String?
  /// The label of the account, by which a Focus filter selects pushes.
  public var criteria: String?
  /// False if the device reported that alerts are off for the app.
  public var allowsAlerts: Bool
  /// False if the device reported that time-sensitive notifications are off for the app.
  public var allowsTimeSensitive: Bool
  /// The language and region of the device, in the device's own spelling.
  public var locale: String?
  /// The name of the time zone, at most 64 bytes. The relay need not know it.
  public var timeZone: String?
  /// The time of the last registration. Is `nil` on a device that is not stored yet.
  public var registered: Timestamp?

  public init(
    id: DeviceID, app: String? = nil, platform: Platform, token: String, voipToken: String? = nil,
    criteria: String? = nil, allowsAlerts: Bool = true, allowsTimeSensitive: Bool = true, locale: String? = nil,
    timeZone: String? = nil, environment: PushEnvironment? = nil, topic: String? = nil
  ) {
    self.id = id
    self.app = app
    self.platform = platform
    self.token = token
    self.voipToken = voipToken
    self.criteria = criteria
    self.allowsAlerts = allowsAlerts
    self.allowsTimeSensitive = allowsTimeSensitive
    self.locale = locale
    self.timeZone = timeZone
    self.environment = environment
    self.topic = topic
  }

  public static let maxTokenLength = 4096
  /// The maximum number of users whose devices share one token: the accounts that a person uses in one app on one
  /// phone. A registration beyond it ends the account that registered longest ago.
  public static let maxAccounts = 8
}
