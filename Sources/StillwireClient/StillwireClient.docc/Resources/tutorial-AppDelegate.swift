// SPDX-License-Identifier: Apache-2.0
// The device's registration, the categories, and the responses to notifications.
import StillwireApple
import StillwireExtension
import UIKit
import UserNotifications

final class AppDelegate: NSObject, UIApplicationDelegate, UNUserNotificationCenterDelegate {
  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    UNUserNotificationCenter.current().delegate = self
    application.registerForRemoteNotifications()
    Task {
      guard try await UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .badge, .sound])
      else { return }
      // The system asks for the Focus status only after it may show notifications.
      _ = try? await chat.focusReporter.requestAuthorization()
      let api = RelayAPI(chat.relay) { try await Session.identity() }
      try await UNUserNotificationCenter.current().declareCategories(of: api)
    }
    return true
  }

  func application(
    _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
  ) {
    Task { try await chat.register(token, criteria: "work") { try await Session.identity() } }
  }

  nonisolated func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
  ) async {
    guard let response = NotificationResponse(response) else { return }
    try? await chat.api.respond(response)
  }
}
