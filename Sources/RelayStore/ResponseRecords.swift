// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What somebody did with a notification, to be stored.
public struct ResponseDraft: Equatable, Sendable {
  /// The id of the job whose push it was.
  public var notification: String
  public var user: UserID
  public var action: ActionID
  public var text: String?
  /// Makes a second attempt at the same response harmless, whatever it says, for as long as one can be given.
  public var key: String?

  public init(notification: String, user: UserID, action: ActionID, text: String? = nil, key: String? = nil) {
    self.notification = notification
    self.user = user
    self.action = action
    self.text = text
    self.key = key
  }
}

/// A notification that somebody was sent.
public struct NotificationRecord: Equatable, Sendable {
  public var message: MessageReference
  public var sender: UserID
  /// What was asked of its pushes as JSON; nil: nothing.
  public var push: [UInt8]?
  /// Its recipient is still in the room.
  public var isMember: Bool

  public init(message: MessageReference, sender: UserID, push: [UInt8]? = nil, isMember: Bool = true) {
    self.message = message
    self.sender = sender
    self.push = push
    self.isMember = isMember
  }
}

/// A response that is to be told to the message's sender.
public struct StoredResponse: Equatable, Sendable {
  /// Rises from response to response.
  public var id: Int64
  public var notification: String
  public var message: MessageReference
  /// Who responded.
  public var user: UserID
  /// Who sent the message.
  public var sender: UserID
  public var action: ActionID
  public var text: String?
  /// The seq of the message that the text became.
  public var posted: Int64?

  public init(
    id: Int64, notification: String, message: MessageReference, user: UserID, sender: UserID, action: ActionID,
    text: String? = nil, posted: Int64? = nil
  ) {
    self.id = id
    self.notification = notification
    self.message = message
    self.user = user
    self.sender = sender
    self.action = action
    self.text = text
    self.posted = posted
  }
}

/// How a response was taken.
public struct Responded: Equatable, Sendable {
  /// As it was stored, now or before.
  public var response: StoredResponse
  public var time: Timestamp
  /// It was there already, and nothing was written.
  public var isDuplicate: Bool
  /// Its sender is to be told.
  public var isToTell: Bool

  public init(response: StoredResponse, time: Timestamp, isDuplicate: Bool = false, isToTell: Bool = true) {
    self.response = response
    self.time = time
    self.isDuplicate = isDuplicate
    self.isToTell = isToTell
  }
}
