// SPDX-License-Identifier: Apache-2.0
// Reads the recipient and the withdrawals of a push from the `userInfo` of Apple's frameworks.
import Foundation
public import StillwireExtension

extension [AnyHashable: Any] {
  /// The members that the relay itself writes.
  private static var keys: [String] {
    ["aps", "communication", "push", "message", "digest", "read", "removed", "image"]
  }

  /// The relay's members of a payload as a JSON object. Is empty if they are not JSON.
  var payload: Data { payload(with: nil) }

  /// The same with a member of the sender. The sender may nest its value so deeply that the text cannot be read.
  func payload(with key: String?) -> Data {
    var members: [String: Any] = [:]
    for key in Self.keys + [key].compactMap({ $0 }) { members[key] = self[key] }
    guard JSONSerialization.isValidJSONObject(members) else { return Data() }
    // An escaped slash would make a payload at the maximum size too long.
    return (try? JSONSerialization.data(withJSONObject: members, options: .withoutEscapingSlashes)) ?? Data()
  }
}

extension Withdrawal {
  /// Reads the payload of a push that wakes the app:
  /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
  public init(_ userInfo: [AnyHashable: Any]) {
    self.init(reading: userInfo.payload)
  }
}

extension PushOrigin {
  /// Reads the payload of a push.
  public init(_ userInfo: [AnyHashable: Any]) {
    self.init(reading: userInfo.payload)
  }
}

#if canImport(UserNotifications) && !os(tvOS)
  public import UserNotifications

  extension DeliveredNotification {
    /// Reads a notification that the phone shows.
    public init(_ notification: UNNotification) {
      let request = notification.request
      self.init(identifier: request.identifier, reading: request.content.userInfo.payload)
    }
  }
#endif
