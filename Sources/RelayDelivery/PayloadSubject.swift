// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A message that becomes a push, as one of its recipients sees it.
public struct PayloadSubject: Equatable, Sendable {
  /// The id of the notification and of the push: a lower-case UUID.
  public var notification: String
  /// The user that the push is for. A phone may have several accounts, so each payload names its own.
  public var recipient: UserID
  public var sender: User
  public var room: PayloadRoom
  public var epoch: String
  public var seq: Int64
  public var kind = MessageKind.message
  /// The text of the message. Is `nil` when its body has no text.
  public var text: String?
  /// The sender's options for the look and the sound of the push.
  public var style = PushStyle()
  /// False if no text of the message may leave the relay. The push then has only ids, names and keys of texts.
  public var hasPreview = true
  public var level = Level.active
  /// The number of unread messages. A negative number is shown as 0.
  public var badge: Int
  public var isMention = false
  public var isReply = false
  /// True if the sender requests a notification although the recipient's Focus is on (Notify Anyway).
  public var isNotifyAnyway = false
  /// The label that a Focus filter matches.
  public var criteria: String?
  public var expires: Timestamp
  /// The app on the recipient's device.
  public var app: PayloadApp
  /// The message whose push this one replaces on the phone. Is `nil` when it replaces only earlier pushes of its own
  /// message.
  public var replaces: MessageReference?
  /// The scope of the collapse id of that push.
  public var replacesScope = CollapseScope.message
  /// The token with which the app's extension reports the arrival of the push. Is `nil` when no report is requested.
  public var receipt: String?
  /// The notifications that the phone removes when it gets the push.
  var removals = Removals()
  /// The relay's own text in place of the body. Is `nil` for the body.
  var ownText: PushTextKey?
  /// The invitation that the push is about. Is `nil` for a message.
  public var invitation: PayloadInvitation?
  /// False if the names of the room and of the conversation are left out to make the payload fit.
  var hasNames = true

  public var message: MessageReference { MessageReference(room: room.id, seq: seq) }

  /// The message by which a phone knows the notification. For an invitation it is message 0 of the room. Is `nil` for
  /// another notification without a room.
  public var identity: MessageReference? {
    let known = replaces ?? message
    return known.room.isNotifications ? nil : known
  }

  /// The maximum length of a receipt token, in bytes.
  public static let maxReceiptLength = 64
}

extension PayloadSubject {
  /// A message without a text and options.
  public init(
    notification: String, recipient: UserID, sender: User, room: PayloadRoom, epoch: String, seq: Int64, badge: Int,
    expires: Timestamp, app: PayloadApp
  ) {
    self.init(
      notification: notification, recipient: recipient, sender: sender, room: room, epoch: epoch, seq: seq, text: nil,
      badge: badge, expires: expires, app: app)
  }
}

/// The room of a message, as the payload describes it.
public struct PayloadRoom: Equatable, Sendable {
  public var id: RoomID
  public var title: String?
  public var avatar: String?
  /// The members without the sender of the message: everybody who receives it. At least 1, the user of the phone.
  public var recipientCount: Int
  /// True if the notification shows a group, also if only two members are left.
  public var isGroup: Bool

  public init(id: RoomID, title: String? = nil, avatar: String? = nil, recipientCount: Int = 1, isGroup: Bool = false) {
    self.id = id
    self.title = title
    self.avatar = avatar
    self.recipientCount = recipientCount
    self.isGroup = isGroup
  }
}

/// The invitation of a push.
public struct PayloadInvitation: Equatable, Sendable {
  public var room: RoomID
  public var kind: RoomKind
  public var title: String?

  public init(room: RoomID, kind: RoomKind, title: String? = nil) {
    self.room = room
    self.kind = kind
    self.title = title
  }
}

/// The app that receives a push, with the operator's settings for it.
public struct PayloadApp: Equatable, Sendable {
  /// The bundle id.
  public var topic: String
  /// The sound of a call if the sender names none. Is `nil` when the app has no ringtone of its own.
  public var ringtone: String?
  /// The relay's own texts, in the language of the device.
  public var texts: PushTexts

  public init(topic: String, ringtone: String? = nil, texts: PushTexts = PushTexts()) {
    self.topic = topic
    self.ringtone = ringtone
    self.texts = texts
  }
}
