// SPDX-License-Identifier: Apache-2.0

/// Through which gateway a device is reached.
public enum Platform: String, Sendable, CaseIterable {
  case apns, webpush, http, simulator
}

/// Which of Apple's two services knows a token.
public enum PushEnvironment: String, Sendable, CaseIterable {
  case production, sandbox

  public var other: Self { self == .production ? .sandbox : .production }
}

/// A push target: one installation of an app.
public struct Device: Equatable, Sendable {
  public var id: DeviceID
  public var app: String?
  public var platform: Platform
  /// What the gateway knows it by; at most ``longestToken`` bytes.
  public var token: String
  /// What the gateway knows it by for calls; as long at most.
  public var voipToken: String?
  /// Apple's service that knows the token; nil: it was not said.
  public var environment: PushEnvironment?
  /// The bundle id, where the app has several.
  public var topic: String?
  /// The account's label, by which a Focus filter tells pushes apart.
  public var criteria: String?
  /// false: it said that alerts are off for the app.
  public var allowsAlerts: Bool
  /// false: it said that time-sensitive notifications are off for the app.
  public var allowsTimeSensitive: Bool
  /// The language and region of its texts, as the device spells them.
  public var locale: String?
  /// An IANA name.
  public var timeZone: String?
  /// When it registered last; nil but where a push of a message is to be sent to it.
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

  public static let longestToken = 4096
}
