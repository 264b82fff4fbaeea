// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The action that a person chose in a notification.
public struct NotificationResponse: Equatable, Sendable {
  /// The id of the push.
  public var notification: String
  /// The recipient of the push: a user of this phone. Is `nil` if the push does not name a valid user.
  public var recipient: UserID?
  /// `UNNotificationResponse.actionIdentifier`.
  public var action: ActionID
  /// The text of an action with text input.
  public var text: String?
  /// An idempotency key.
  public var key: String?

  public init(
    notification: String, recipient: UserID? = nil, action: ActionID, text: String? = nil, key: String? = nil
  ) {
    self.notification = notification
    self.recipient = recipient
    self.action = action
    self.text = text
    self.key = key
  }
}
