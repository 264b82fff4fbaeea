// SPDX-License-Identifier: Apache-2.0
// Reads the permissions of a registration from `UNNotificationSettings` of UserNotifications.
#if canImport(UserNotifications) && !os(tvOS)
  public import StillwireExtension
  public import UserNotifications

  extension NotificationPermissions {
    /// Reads the person's settings of this app.
    public init(_ settings: UNNotificationSettings) {
      let isDenied = settings.authorizationStatus == .denied || settings.authorizationStatus == .notDetermined
      self.init(
        allowsAlerts: !isDenied && settings.alertSetting != .disabled,
        allowsTimeSensitive: settings.timeSensitiveSetting != .disabled)
    }
  }
#endif
