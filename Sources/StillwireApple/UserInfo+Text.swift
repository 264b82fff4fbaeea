// SPDX-License-Identifier: Apache-2.0
// Reads the recipient and the withdrawals of a push from the `userInfo` of Apple's frameworks.
import Foundation
public import StillwireExtension

extension [AnyHashable: Any] {
  /// The members of a payload that have these keys, as a JSON object.
  func text(of keys: [String]) -> Data? {
    var members: [String: Any] = [:]
    for key in keys { members[key] = self[key] }
    guard JSONSerialization.isValidJSONObject(members) else { return nil }
    // An escaped slash would make a payload at the maximum size too long.
    return try? JSONSerialization.data(withJSONObject: members, options: .withoutEscapingSlashes)
  }
}

extension Withdrawal {
  /// Reads the payload of a push that wakes the app:
  /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
  public init(_ userInfo: [AnyHashable: Any]) {
    self.init(reading: userInfo.text(of: ["communication", "push", "read", "removed"]) ?? Data())
  }
}

extension PushOrigin {
  /// Reads the payload of a push.
  public init(_ userInfo: [AnyHashable: Any]) {
    self.init(reading: userInfo.text(of: ["communication", "push"]) ?? Data())
  }
}

#if canImport(UserNotifications) && !os(tvOS)
  public import UserNotifications

  extension DeliveredNotification {
    /// Reads a notification that the phone shows.
    public init(_ notification: UNNotification) {
      let request = notification.request
      let text = request.content.userInfo.text(of: ["communication", "push", "message", "digest"]) ?? Data()
      self.init(identifier: request.identifier, reading: text)
    }
  }
#endif
