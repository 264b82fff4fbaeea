// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A response to a notification, before it is stored.
public struct ResponseDraft: Equatable, Sendable {
  /// The id of the push job.
  public var notification: String
  public var user: UserID
  public var action: ActionID
  public var text: String?
  /// An idempotency key: a second response with the same key has no effect.
  public var key: String?

  public init(notification: String, user: UserID, action: ActionID, text: String? = nil, key: String? = nil) {
    self.notification = notification
    self.user = user
    self.action = action
    self.text = text
    self.key = key
  }
}

/// A notification that the relay made for a user.
public struct NotificationRecord: Equatable, Sendable {
  public var message: MessageReference
  public var sender: UserID
  /// The category, whose actions are possible responses. Is `nil` when the sender named none.
  public var category: CategoryID?
  /// True if the recipient is still a member of the room.
  public var isMember = true
}

/// A stored response, as the message's sender receives it.
public struct StoredResponse: Equatable, Sendable {
  /// Increases with each response.
  public var id: Int64
  public var notification: String
  public var message: MessageReference
  /// The user who responded.
  public var user: UserID
  /// The sender of the message.
  public var sender: UserID
  public var action: ActionID
  public var text: String?
  /// The seq of the message that the text became.
  public var posted: Int64?
}

/// The result of a response.
public struct Responded: Equatable, Sendable {
  /// The stored response, of this call or of an earlier one.
  public var response: StoredResponse
  public var time: Timestamp
  /// True if the response was stored before. Nothing was written.
  public var isDuplicate = false
  /// True if the relay must send the response to the message's sender.
  public var needsSending = true
}
