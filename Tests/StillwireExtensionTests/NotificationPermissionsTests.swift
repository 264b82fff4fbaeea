// SPDX-License-Identifier: Apache-2.0
// Tests the permissions of an app: all combinations of the settings, and the settings of typical phones.
import StillwireExtension
import Testing

@Suite struct NotificationPermissionsTests {
  /// All combinations of three settings.
  private static let places = NotificationSetting.allCases.flatMap { banners in
    NotificationSetting.allCases.flatMap { lockScreen in
      NotificationSetting.allCases.map { (banners, lockScreen, notificationCenter: $0) }
    }
  }

  @Test func `each combination of the settings has its permissions`() {
    // Only these combinations of banner, lock screen and Notification Center show nothing.
    let off = NotificationSetting.allCases.filter { $0 != .enabled }
    var (all, withoutAlerts) = (0, 0)
    for authorization in NotificationAuthorization.allCases {
      for (banners, lockScreen, notificationCenter) in Self.places {
        for timeSensitive in NotificationSetting.allCases {
          let permissions = NotificationPermissions(
            authorization: authorization, banners: banners, lockScreen: lockScreen,
            notificationCenter: notificationCenter, timeSensitive: timeSensitive)
          let isHidden = off.contains(banners) && off.contains(lockScreen) && off.contains(notificationCenter)
          let expected = NotificationPermissions(
            allowsAlerts: authorization == .denied ? false : !isHidden, allowsTimeSensitive: timeSensitive == .enabled)
          #expect(
            permissions == expected, "\(authorization) \(banners) \(lockScreen) \(notificationCenter) \(timeSensitive)")
          all += 1
          withoutAlerts += permissions.allowsAlerts ? 0 : 1
        }
      }
    }
    // 5 answers, and 3 values of each of 4 settings.
    #expect(all == 5 * 81)
    // Denied: all 81. Each other answer: 8 combinations of the places, with 3 values of `timeSensitive`.
    #expect(withoutAlerts == 81 + 4 * 8 * 3)
  }

  typealias Row = (
    name: String, NotificationAuthorization, banners: NotificationSetting, lockScreen: NotificationSetting,
    notificationCenter: NotificationSetting, timeSensitive: NotificationSetting, NotificationPermissions
  )

  private static let all = NotificationPermissions(allowsAlerts: true, allowsTimeSensitive: true)
  private static let alerts = NotificationPermissions(allowsAlerts: true, allowsTimeSensitive: false)
  private static let none = NotificationPermissions(allowsAlerts: false, allowsTimeSensitive: false)

  static let rows: [Row] = [
    ("allowed", .authorized, .enabled, .enabled, .enabled, .enabled, all),
    ("denied", .denied, .disabled, .disabled, .disabled, .disabled, none),
    ("denied, and the settings are those of before", .denied, .enabled, .enabled, .enabled, .disabled, none),
    ("not asked", .notDetermined, .notSupported, .notSupported, .notSupported, .notSupported, none),
    ("provisional: only Notification Center", .provisional, .disabled, .disabled, .enabled, .notSupported, alerts),
    ("a provisional app that the person keeps", .provisional, .enabled, .enabled, .enabled, .enabled, all),
    ("without banners", .authorized, .disabled, .enabled, .enabled, .enabled, all),
    ("only the lock screen", .authorized, .disabled, .enabled, .disabled, .disabled, alerts),
    ("only banners", .authorized, .enabled, .disabled, .disabled, .disabled, alerts),
    ("all places off", .authorized, .disabled, .disabled, .disabled, .disabled, none),
    ("the app asked only for badges", .authorized, .notSupported, .notSupported, .notSupported, .notSupported, none),
    ("without the entitlement for time-sensitive", .authorized, .enabled, .enabled, .enabled, .notSupported, alerts),
    // The summary delays alerts. It changes none of these settings.
    ("the scheduled summary", .authorized, .enabled, .enabled, .enabled, .disabled, alerts),
    ("an App Clip", .ephemeral, .enabled, .enabled, .enabled, .notSupported, alerts),
    ("a watch has no lock screen", .authorized, .enabled, .notSupported, .enabled, .enabled, all),
  ]

  @Test(arguments: rows.indices) func `the permissions of a phone`(_ index: Int) {
    let row = Self.rows[index]
    #expect(
      NotificationPermissions(
        authorization: row.1, banners: row.banners, lockScreen: row.lockScreen,
        notificationCenter: row.notificationCenter, timeSensitive: row.timeSensitive) == row.6, "\(row.name)")
  }
}
