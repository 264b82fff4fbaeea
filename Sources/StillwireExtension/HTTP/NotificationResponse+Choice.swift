// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension NotificationResponse {
  /// The selection of a person in a notification.
  public enum Choice: Equatable, Sendable {
    /// The person opened the notification.
    case opened
    /// The person dismissed the notification.
    case dismissed
    /// The person selected an action of the category.
    case action(ActionID)
    /// The person selected an action with text input, and typed this text.
    case reply(ActionID, text: String)
  }

  /// The selection of the person.
  public var choice: Choice {
    switch (action, text) {
    case (.open, _): .opened
    case (.dismiss, _): .dismissed
    case (let action, let text?): .reply(action, text: text)
    case (let action, nil): .action(action)
    }
  }

  /// Makes a response from the identifiers of the system. Returns `nil` if the relay does not accept the identifier of
  /// the action, or if the id of the push is not a UUID.
  public init?(
    notification: String, recipient: UserID? = nil, actionIdentifier: String, text: String? = nil, key: String? = nil
  ) {
    guard notification.lowercased().isLowercaseUUID, let action = ActionID(rawValue: actionIdentifier) else {
      return nil
    }
    self.init(notification: notification, recipient: recipient, action: action, text: text, key: key)
  }
}
