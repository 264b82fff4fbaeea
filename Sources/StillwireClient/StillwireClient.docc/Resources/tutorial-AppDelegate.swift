// SPDX-License-Identifier: Apache-2.0
// The device's registration, the permissions, and the responses to notifications.
import StillwireUI
import UIKit
import UserNotifications
import os

private let log = Logger(subsystem: "org.example.chat", category: "app")

final class AppDelegate: NSObject, UIApplicationDelegate {
  private let responder = NotificationResponder(chat)

  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    UNUserNotificationCenter.current().delegate = responder
    Task { await chat.started() }
    // The system may launch the app in the background. The app's scene reports when the person sees it.
    Task { await relay.report(.background) }
    Task { await relay.run() }
    Task {
      await attempt("permissions") {
        try await chat.requestPermissions(for: Session.user, as: Session.identity) {
          application.registerForRemoteNotifications()
        }
      }
    }
    return true
  }

  func application(
    _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
  ) {
    Task {
      await attempt("registration") {
        try await chat.register(Session.user, token: token, criteria: "work", as: Session.identity)
      }
    }
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    // A badge or a background push withdraws notifications of messages that are read elsewhere or deleted.
    let withdrawal = Withdrawal(userInfo)
    Task { completionHandler(await chat.received(withdrawal) ? .newData : .noData) }
  }

  private func attempt(_ name: String, _ work: @MainActor () async throws -> Void) async {
    do { try await work() } catch { log.error("\(name): \(String(describing: error), privacy: .public)") }
  }
}
