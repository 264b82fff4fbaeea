// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol
package import RelayRequests

/// The response of a user to a notification, as the request contains it.
package struct ResponseRequest: Equatable, Sendable {
  /// The id of the notification from its payload.
  package let notification: String
  package let action: ActionID
  package let text: String?
  package var key: String?

  static let maxNotificationLength = 64
  /// The maximum length of the text, in bytes.
  package static let maxTextLength = 4_096

  private static let notificationField = Field<String?>.text(
    "notification", maxLength: maxNotificationLength,
    """
    The id of the push: `notification` of the payload's `communication` or `push`, or `call` of a VoIP push.
    """
  ).required().onlyFrames
  private static let actionField = Field<ActionID?>.name("action", schema: "CategoryName").required().inFrames(
    """
    An action of the notification's category, or `com.apple.UNNotificationDefaultActionIdentifier`, or \
    `com.apple.UNNotificationDismissActionIdentifier`.
    """)
  private static let textField = Field<String?>.text(
    "text", maxLength: maxTextLength,
    """
    The text, for an action with `textInput`, with a maximum size in bytes. An action with `posts` needs a text that \
    is not blank.
    """)
  package static let keyField = RequestField<String?>.key(
    "A second response to the same message with the same key is a duplicate, whatever its other fields are.")
  package static let fields: [any DeclaredField] = [notificationField, actionField, textField, keyField]

  /// - Parameter notification: The id from the path. With `nil`, the id is a field.
  package init(_ fields: Fields, notification: String? = nil) throws(RequestError) {
    if let notification {
      self.notification = notification
    } else {
      self.notification = try Self.notificationField.value(in: fields)
    }
    action = try Self.actionField.value(in: fields)
    text = try Self.textField.value(in: fields)
    key = try fields.idempotencyKey()
  }

  /// Returns true if the relay posts the text in the room of the message. Throws if the action or the text is not
  /// allowed.
  /// - Parameter category: The category of the notification. Is `nil` if it has none, or if the registry no longer
  ///   contains it.
  package func posts(by category: NotificationCategory?) throws(RequestError) -> Bool {
    let known = category?.actions.first { $0.id == action }
    guard action.isSystem || known != nil else {
      throw RequestError(.badRequest, "the category of the notification has no such action", at: "/action")
    }
    guard text == nil || known?.textInput != nil else {
      throw RequestError(.badRequest, "this action takes no text, because it has no textInput", at: "/text")
    }
    guard let known, known.posts else { return false }
    guard let text, !text.allSatisfy(\.isWhitespace) else {
      throw RequestError(.badRequest, "text must not be blank: this action posts it", at: "/text")
    }
    return true
  }
}
