// SPDX-License-Identifier: Apache-2.0
// The local notification about a call that the phone has not shown.
#if canImport(CallKit) && canImport(PushKit) && !os(macOS) && !os(tvOS)
  import Foundation
  import StillwireExtension
  import UserNotifications

  extension IncomingCall {
    /// Shows "Missed call" with the name of the caller. A later push about the same call replaces it: both have the same
    /// identifier.
    func showMissed() async {
      let content = UNMutableNotificationContent()
      content.title = caller.displayName
      content.body = NSString.localizedUserNotificationString(forKey: PushTextKey.missedCall.rawValue, arguments: nil)
      content.threadIdentifier = payload.message?.room.rawValue ?? ""
      // The response to this notification names the push, as that to a push does.
      content.userInfo = (try? JSONSerialization.jsonObject(with: Data(data.bytes)) as? [AnyHashable: Any]) ?? [:]
      let request = UNNotificationRequest(identifier: notificationIdentifier, content: content, trigger: nil)
      // Without the permission for notifications the person sees nothing.
      try? await UNUserNotificationCenter.current().add(request)
    }

    /// Removes this notification, and the one of the relay in its place.
    func removeMissed() {
      UNUserNotificationCenter.current().removeDeliveredNotifications(withIdentifiers: [notificationIdentifier])
    }

    private var notificationIdentifier: String { payload.requestIdentifier ?? id.uuidString }
  }
#endif
