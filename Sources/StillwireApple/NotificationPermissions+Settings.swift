// SPDX-License-Identifier: Apache-2.0
// Reads the permissions of a registration from `UNNotificationSettings` of UserNotifications.
#if canImport(UserNotifications) && !os(tvOS)
  public import StillwireExtension
  public import UserNotifications

  extension NotificationPermissions {
    /// Reads the person's settings of this app.
    public init(_ settings: UNNotificationSettings) {
      #if os(watchOS)
        let lockScreen = NotificationSetting.notSupported
      #else
        let lockScreen = NotificationSetting(settings.lockScreenSetting)
      #endif
      self.init(
        authorization: NotificationAuthorization(settings.authorizationStatus),
        banners: NotificationSetting(settings.alertSetting), lockScreen: lockScreen,
        notificationCenter: NotificationSetting(settings.notificationCenterSetting),
        timeSensitive: NotificationSetting(settings.timeSensitiveSetting))
    }
  }

  extension NotificationAuthorization {
    fileprivate init(_ status: UNAuthorizationStatus) {
      switch status {
      case .notDetermined: self = .notDetermined
      case .denied: self = .denied
      case .provisional: self = .provisional
      case .authorized: self = .authorized
      // A status that is newer than this client, and that of an App Clip: the other settings decide.
      default: self = .ephemeral
      }
    }
  }

  extension NotificationSetting {
    fileprivate init(_ setting: UNNotificationSetting) {
      switch setting {
      case .enabled: self = .enabled
      case .disabled: self = .disabled
      case .notSupported: self = .notSupported
      @unknown default: self = .notSupported
      }
    }
  }
#endif
