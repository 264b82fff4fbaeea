// SPDX-License-Identifier: Apache-2.0
// Reads the payload types of StillwireExtension from a `UNNotificationContent` of UserNotifications.
#if canImport(UserNotifications) && !os(tvOS)
  import Foundation
  public import StillwireExtension
  public import UserNotifications

  extension CommunicationPayload {
    /// Reads the payload of a notification.
    ///
    /// Returns `nil` if the notification is not a communication. Show its content unchanged then.
    public init?(_ content: UNNotificationContent) {
      self.init(reading: content.userInfo.payload(with: "video"))
    }
  }

  extension ArrivalReceipt {
    /// Reads the ids of a notification of any kind. Returns `nil` if its payload has no receipt token.
    public init?(_ content: UNNotificationContent) {
      self.init(reading: content.userInfo.payload)
    }
  }

  extension NotificationImage {
    /// Reads the image of a notification of any kind. Returns `nil` if its payload has none.
    public init?(_ content: UNNotificationContent) {
      self.init(reading: content.userInfo.payload)
    }
  }

  extension UNNotificationContent {
    /// Returns the notification with a file as an attachment. Returns `nil` if the system does not accept the file.
    func attaching(_ file: URL) -> UNNotificationContent? {
      guard let content = mutableCopy() as? UNMutableNotificationContent,
        let attachment = try? UNNotificationAttachment(identifier: "", url: file)
      else { return nil }
      content.attachments.append(attachment)
      return content
    }

    /// The id of the push, for ``StillwireExtension/RelayAPI/respond(to:with:text:key:)``. Messages, digests and plain
    /// notifications have an id. Is `nil` if the relay did not send the push.
    public var notificationID: String? { CommunicationPayload.notification(reading: userInfo.payload) }
  }
#endif
