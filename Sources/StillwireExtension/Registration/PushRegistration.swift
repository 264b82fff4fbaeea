// SPDX-License-Identifier: Apache-2.0
// The registration of a device for Apple's push service, and the decision to send it. Has no dependency on Apple's
// frameworks.
public import Foundation
public import RelayJSON
public import RelayProtocol

/// The permissions that the person gives the app on this device.
public struct NotificationPermissions: Equatable, Sendable {
  /// False if the app may show no alerts. The relay then sends calls, badges and removals, but no alerts.
  public var allowsAlerts: Bool
  /// False if the person has switched off time-sensitive notifications.
  public var allowsTimeSensitive: Bool

  public init(allowsAlerts: Bool = true, allowsTimeSensitive: Bool = true) {
    self.allowsAlerts = allowsAlerts
    self.allowsTimeSensitive = allowsTimeSensitive
  }
}

/// The registration of this device for pushes.
public struct PushRegistration: Equatable, Sendable {
  /// The recipient of the pushes. A registration is also due if only the user differs from the last one.
  public var user: UserID
  /// The stable name of the user's device, as ``AccountStore/device(of:)`` makes it.
  public var device: DeviceID
  /// The bundle id.
  public var app: String
  /// The token of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
  public var token: Data
  /// The token of `PKPushCredentials`, for calls.
  public var voipToken: Data?
  /// The push service that issued the token. If it is `nil`, the relay finds it out.
  public var environment: PushEnvironment?
  /// The label of the account, which Focus filters match.
  public var criteria: String?
  public var permissions: NotificationPermissions
  /// The language and the region of the device's texts: `Locale.preferredLanguages.first`.
  public var locale: String?
  /// The time zone: `TimeZone.current.identifier`.
  public var timeZone: String?

  public init(
    user: UserID, device: DeviceID, app: String, token: Data, voipToken: Data? = nil,
    environment: PushEnvironment? = nil,
    criteria: String? = nil, permissions: NotificationPermissions = NotificationPermissions(),
    locale: String? = Locale.preferredLanguages.first, timeZone: String? = TimeZone.current.identifier
  ) {
    self.user = user
    self.device = device
    self.app = app
    self.token = token
    self.voipToken = voipToken
    self.environment = environment
    self.criteria = criteria
    self.permissions = permissions
    self.locale = locale
    self.timeZone = timeZone
  }

  /// The members of the request `device`, for a client with a connection. The tokens are in hexadecimal digits.
  public var fields: [String: JSON] {
    var fields: [String: JSON] = [
      "device": .string(device.rawValue), "app": .string(app), "platform": .string(Platform.apns.rawValue),
      "token": .string(token.hexadecimal),
      "settings": [
        "alerts": .bool(permissions.allowsAlerts), "timeSensitive": .bool(permissions.allowsTimeSensitive),
      ],
    ]
    fields["voipToken"] = voipToken.map { .string($0.hexadecimal) }
    fields["environment"] = environment.map { .string($0.rawValue) }
    fields["criteria"] = criteria.map(JSON.string)
    fields["locale"] = locale.map(JSON.string)
    fields["timeZone"] = timeZone.map(JSON.string)
    return fields
  }

  /// A registration that the relay has accepted. The app stores it, for example in `UserDefaults`. It contains no token.
  public struct Record: Codable, Equatable, Sendable {
    /// The SHA-256 of the registration.
    public var digest: String
    public var time: Date
  }

  /// The maximum age of a registration. The app then sends it again, in case the relay has forgotten the device.
  public static let maxAge = Duration.seconds(7 * 86_400)

  /// Returns the record of this registration at this time.
  public func record(at time: Date) -> Record { Record(digest: digest, time: time) }

  /// True if the app must send the registration: it has changed, or is older than ``maxAge``, or the app has no report
  /// key.
  /// - Parameters:
  ///   - last: The last registration that the relay has accepted.
  ///   - hasReportKey: True if the Keychain has a report key.
  ///   - now: The current time.
  public func isDue(after last: Record?, hasReportKey: Bool, now: Date) -> Bool {
    guard let last, hasReportKey, last.digest == digest else { return true }
    // A time in the future, after a change of the clock, is no proof of a registration.
    return !(0..<Self.maxAge.seconds).contains(now.timeIntervalSince(last.time))
  }

  private var digest: String {
    let sorted = fields.sorted { $0.key < $1.key }
    // The members of `settings` have no order.
    let settings = "\(permissions.allowsAlerts) \(permissions.allowsTimeSensitive)"
    let lines = ["user \(user)"] + sorted.map { "\($0.key) \($0.value.text ?? settings)" }
    return SHA256Digest.hexadecimal(of: lines.joined(separator: "\n").utf8)
  }
}

extension Data {
  /// The bytes in lower-case hexadecimal digits.
  fileprivate var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
