// SPDX-License-Identifier: Apache-2.0
// The rules for the permissions of an app. Has no dependency on Apple's frameworks.

/// The person's answer to the app's request for notifications: `UNAuthorizationStatus`.
public enum NotificationAuthorization: Equatable, Sendable, CaseIterable {
  /// The app has not asked.
  case notDetermined
  case denied
  case authorized
  /// The system shows notifications only in Notification Center, without a sound, until the person decides.
  case provisional
  /// An App Clip may show notifications for some hours.
  case ephemeral
}

/// A setting of the app's notifications: `UNNotificationSetting`.
public enum NotificationSetting: Equatable, Sendable, CaseIterable {
  /// The app cannot have it: the app did not ask for it, has no entitlement for it, or the system does not know it.
  case notSupported
  case disabled
  case enabled
}

extension NotificationPermissions {
  /// Applies the rules:
  ///
  /// - Alerts are off if the person has denied notifications, or if the phone shows none of them: not as a banner, not on
  ///   the lock screen and not in Notification Center.
  /// - Time-sensitive notifications are off unless they are `enabled`.
  /// - `notSupported` never counts as allowed.
  ///
  /// An app that has not asked yet may show nothing, so that all settings are `notSupported`. The scheduled summary
  /// changes none of these settings: the phone shows the alerts later.
  /// - Parameters:
  ///   - authorization: The person's answer.
  ///   - banners: `alertSetting`.
  ///   - lockScreen: `lockScreenSetting`. Is `notSupported` on a watch.
  ///   - notificationCenter: `notificationCenterSetting`.
  ///   - timeSensitive: `timeSensitiveSetting`.
  public init(
    authorization: NotificationAuthorization, banners: NotificationSetting, lockScreen: NotificationSetting,
    notificationCenter: NotificationSetting, timeSensitive: NotificationSetting
  ) {
    let isShown = [banners, lockScreen, notificationCenter].contains(.enabled)
    self.init(
      allowsAlerts: authorization != .denied && isShown, allowsTimeSensitive: timeSensitive == .enabled)
  }
}
