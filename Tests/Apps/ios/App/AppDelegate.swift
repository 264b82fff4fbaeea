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
    Task {
      let center = UNUserNotificationCenter.current()
      let isAllowed = try await center.requestAuthorization(options: [.alert, .badge, .sound])
      // The registration says whether alerts are allowed, so it follows the answer.
      application.registerForRemoteNotifications()
      guard isAllowed else { return }
      // The system asks for the Focus status only after it may show notifications.
      _ = try? await chat.focusReporter.requestAuthorization()
      let api = RelayAPI(chat.relay) { try await Session.identity() }
      try await center.declareCategories(of: api)
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
