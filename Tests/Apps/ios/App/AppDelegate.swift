// SPDX-License-Identifier: Apache-2.0
// The device's registration, the permissions, calls, and the responses to notifications.
import StillwireApple
import StillwireExtension
import UIKit
import UserNotifications

final class AppDelegate: NSObject, UIApplicationDelegate, UNUserNotificationCenterDelegate {
  private var calls: CallReceiver?

  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    UNUserNotificationCenter.current().delegate = self
    calls = CallReceiver { event in
      // The registration contains the token for calls. The other events begin and end the app's own audio.
      if event == .tokenChanged { application.registerForRemoteNotifications() }
    }
    Task {
      try await chat.requestPermissions(as: { try await Session.identity() }) {
        application.registerForRemoteNotifications()
      }
    }
    return true
  }

  func application(
    _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
  ) {
    Task { try await chat.register(token, voipToken: calls?.token, criteria: "work") { try await Session.identity() } }
  }

  nonisolated func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
  ) async {
    guard let response = NotificationResponse(response) else { return }
    try? await chat.api.respond(response)
  }
}
