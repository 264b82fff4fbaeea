// SPDX-License-Identifier: Apache-2.0
// The content of a push to a user who is not signed in, and the end of the user's device.
#if canImport(UserNotifications) && !os(tvOS)
  import Foundation
  public import StillwireExtension
  public import UserNotifications

  extension UNNotificationContent {
    /// Returns "New message" in place of a push: without sender, text, picture, sound and buttons. The system requires a
    /// notification for each push.
    /// - Parameters:
    ///   - origin: The origin of the push, so that the app can remove the notification.
    ///   - hasOtherAccounts: True if another user is signed in: the badge stays then.
    public static func hidden(from origin: PushOrigin, hasOtherAccounts: Bool) -> UNNotificationContent {
      let content = UNMutableNotificationContent()
      content.body = NSString.localizedUserNotificationString(forKey: PushTextKey.newMessage.rawValue, arguments: nil)
      content.interruptionLevel = .passive
      var push: [String: String] = [:]
      push["recipient"] = origin.recipient?.rawValue
      content.userInfo = ["push": push]
      if !hasOtherAccounts { content.badge = 0 }
      return content
    }
  }

  extension AccountStore {
    /// Removes the notifications of users who are not signed in, and repeats the open sign-outs.
    func repeatSignOuts(in center: UNUserNotificationCenter) async {
      await center.removeDelivered(hiddenBy: self)
      await repeatSignOuts()
    }
  }
#endif
