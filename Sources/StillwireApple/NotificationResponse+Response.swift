// SPDX-License-Identifier: Apache-2.0
// Makes a `NotificationResponse` of StillwireExtension from a `UNNotificationResponse` of UserNotifications.
#if canImport(UserNotifications) && !os(tvOS)
  public import StillwireExtension
  public import UserNotifications

  extension NotificationResponse {
    /// Reads the person's response. Returns `nil` if the relay did not send the push, or if it does not accept the
    /// identifier of the action.
    public init?(_ response: UNNotificationResponse) {
      let content = response.notification.request.content
      guard let notification = content.notificationID else { return nil }
      self.init(
        notification: notification, recipient: PushOrigin(content.userInfo).recipient,
        actionIdentifier: response.actionIdentifier,
        text: (response as? UNTextInputNotificationResponse)?.userText)
    }
  }
#endif
