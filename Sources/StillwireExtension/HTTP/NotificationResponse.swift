// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The action that a person chose in a notification.
public struct NotificationResponse: Equatable, Sendable {
  /// The id of the push.
  public var notification: String
  /// `UNNotificationResponse.actionIdentifier`.
  public var action: ActionID
  /// The text of an action with text input.
  public var text: String?
  /// An idempotency key.
  public var key: String?

  public init(notification: String, action: ActionID, text: String? = nil, key: String? = nil) {
    self.notification = notification
    self.action = action
    self.text = text
    self.key = key
  }
}
