// SPDX-License-Identifier: Apache-2.0
#if canImport(UserNotifications)
  import Foundation
  public import StillwireClient
  public import UserNotifications

  extension CommunicationPayload {
    /// Reads the payload of a notification; nil: it is no communication, and is shown as it came.
    public init?(_ content: UNNotificationContent) {
      guard let text = content.text(of: ["aps", "communication", "message"]) else { return nil }
      self.init(reading: text)
    }
  }

  extension ArrivalReceipt {
    /// Reads the ids of a notification of any kind. Returns nil when it has no token.
    public init?(_ content: UNNotificationContent) {
      guard let text = content.text(of: ["communication", "push"]) else { return nil }
      self.init(reading: text)
    }
  }

  extension UNNotificationContent {
    /// The id of the push, for ``StillwireClient/RelayAPI/respond(to:with:text:key:)``. Messages, digests and plain
    /// notifications have one. Is `nil` when the push is not the relay's.
    public var notificationID: String? {
      text(of: ["communication", "push"]).flatMap { CommunicationPayload.notification(reading: $0) }
    }

    /// The JSON of some members of the payload.
    fileprivate func text(of keys: [String]) -> Data? {
      var members: [String: Any] = [:]
      for key in keys { members[key] = userInfo[key] }
      guard JSONSerialization.isValidJSONObject(members) else { return nil }
      return try? JSONSerialization.data(withJSONObject: members)
    }
  }
#endif
