// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// What somebody says that they did with a notification.
struct ResponseRequest: Equatable, Sendable {
  /// The id of the notification, as its payload has it.
  package let notification: String
  package let action: ActionID
  package let text: String?
  package var key: String?

  static let longestNotification = 64
  /// Bytes of the text at most.
  package static let longestText = 4_096

  /// - Parameter notification: From the path; otherwise it is a field.
  init(_ fields: Fields, notification: String? = nil) throws(RequestError) {
    if let notification {
      self.notification = notification
    } else {
      self.notification = try fields.required(
        "notification", fields.string("notification", longest: Self.longestNotification))
    }
    action = try fields.required("action", fields.name("action"))
    text = try fields.string("text", longest: Self.longestText)
    key = try fields.idempotencyKey()
  }

  /// Returns true if the text goes into the room of the message.
  /// - Parameter category: That of the notification; nil: it has none, or one that was taken out of the registry.
  package func posts(by category: NotificationCategory?) throws(RequestError) -> Bool {
    let known = category?.actions.first { $0.id == action }
    guard action.isSystem || known != nil else {
      throw RequestError(.badRequest, "action is none of the notification's category", at: "/action")
    }
    guard text == nil || known?.textInput != nil else {
      throw RequestError(.badRequest, "text is not for this action, which has no textInput", at: "/text")
    }
    guard let known, known.posts else { return false }
    guard let text, !text.allSatisfy(\.isWhitespace) else {
      throw RequestError(.badRequest, "text must not be blank: this action posts it", at: "/text")
    }
    return true
  }
}
