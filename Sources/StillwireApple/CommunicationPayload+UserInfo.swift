// SPDX-License-Identifier: Apache-2.0
#if canImport(UserNotifications)
  import Foundation
  public import StillwireClient
  public import UserNotifications

  extension CommunicationPayload {
    /// Reads the payload of a notification; nil: it is no communication, and is shown as it came.
    public init?(_ content: UNNotificationContent) {
      let keys = ["aps", "communication", "message"]
      var members: [String: Any] = [:]
      for key in keys { members[key] = content.userInfo[key] }
      guard JSONSerialization.isValidJSONObject(members),
        let text = try? JSONSerialization.data(withJSONObject: members)
      else { return nil }
      self.init(reading: text)
    }
  }
#endif
