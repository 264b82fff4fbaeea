// SPDX-License-Identifier: Apache-2.0
public import RelayDelivery
public import RelayProtocol

/// The messages in one notification, with the facts for its payload.
public struct ShownMessages: Equatable, Sendable {
  /// The id of the notification: that of the job that has brought it to the phone.
  public var notification: String
  public var room: PayloadRoom
  public var epoch: String
  /// The newest message.
  public var message: StoredMessage
  /// The push that the sender of the message requests.
  public var push = PushRequest()
  public var sender: User
  /// The sum of the steps of the wall clock when the job was made.
  public var steps = Duration.zero
  /// The end of the push by the stepless clock. Is `nil` when the push follows from the message alone.
  public var ends: Timestamp?
  /// The recipient's unread messages in all rooms that are not muted.
  public var unread: Int
  /// The level of the decision. Is `nil` for the level that the message requests.
  public var level: Level?
  /// True if the message is a reply to a message of the recipient.
  public var isReply = false
  public var isNotifyAnyway = false
  /// The recipient's own label of the room, or else the label of the account on the device.
  public var criteria: String?
  /// True if the sender of the message requests delivery reports.
  public var reports = false
  /// The message whose collapse id the push has. An earlier push with this id may contain the same messages.
  public var collapse: MessageReference
  /// The scope of this collapse id.
  public var collapseScope: CollapseScope
  /// The number of messages of the room in the push, at least 1.
  public var count = 1
  /// The other rooms with messages in the push, the room with the newest message first; at most ``maxOthers``.
  public var others: [Other] = []

  /// Another room with messages in the push.
  public struct Other: Equatable, Sendable {
    public var room: RoomID
    /// The newest message of the room in the push.
    public var message: StoredMessage
    public var push = PushRequest()
    public var sender: User
    /// The number of messages of the room in the push, at least 1.
    public var count: Int
  }

  /// The badge that the push sets. Is `nil` if it leaves the badge as it is.
  public var badge: Int? { push.style.badge.count(unread: unread) }

  /// True if the push has more than one message.
  public var isDigest: Bool { count > 1 || !others.isEmpty }

  /// The maximum number of other rooms that fit into a payload.
  public static let maxOthers = 128
}
