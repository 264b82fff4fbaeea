// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A job that is to be sent now, with all that its payload is made of.
public struct Claim: Equatable, Sendable {
  /// A lower-case UUID, the same at every attempt.
  public var id: String
  /// How often it was claimed, this time included.
  public var attempts: Int
  public var room: RoomID
  public var epoch: String
  public var message: StoredMessage
  public var sender: User
  public var recipient: UserID
  /// As it is registered now.
  public var device: Device
  public var created: Timestamp
  public var roomMemberCount: Int
  /// The recipient's unread messages, over all their rooms that are not muted.
  public var unread: Int
  /// How much it may disturb, as it was decided; nil: as the message says.
  public var level: String?
  /// The message answers one of the recipient's.
  public var isReply: Bool
  public var isNotifyAnyway: Bool
  /// The recipient's own label of the room, or that of the account on the device.
  public var criteria: String?
  /// The sender of the message asked to hear how it goes.
  public var reports: Bool
  /// The message under whose collapse id the push goes out: what was pushed under it may tell of the same.
  public var collapse: MessageReference
  /// How many messages of the room the push tells of; at least 1.
  public var count: Int
  /// The other rooms that it tells of, the one with the newest message first; at most ``mostOthers``.
  public var others: [Other]

  /// A room beside the claim's own of which a push tells.
  public struct Other: Equatable, Sendable {
    public var room: RoomID
    /// The newest of those told of.
    public var message: StoredMessage
    public var sender: User
    /// How many of its messages are told of; at least 1.
    public var count: Int

    public init(room: RoomID, message: StoredMessage, sender: User, count: Int) {
      self.room = room
      self.message = message
      self.sender = sender
      self.count = count
    }
  }

  /// A payload has no place for more.
  public static let mostOthers = 128

  public init(
    id: String, attempts: Int, room: RoomID, epoch: String, message: StoredMessage, sender: User, recipient: UserID,
    device: Device, created: Timestamp, roomMemberCount: Int, unread: Int, level: String? = nil, isReply: Bool = false,
    isNotifyAnyway: Bool = false, criteria: String? = nil, reports: Bool = false, collapse: MessageReference? = nil,
    count: Int = 1,
    others: [Other] = []
  ) {
    self.id = id
    self.attempts = attempts
    self.room = room
    self.epoch = epoch
    self.message = message
    self.sender = sender
    self.recipient = recipient
    self.device = device
    self.created = created
    self.roomMemberCount = roomMemberCount
    self.unread = unread
    self.level = level
    self.isReply = isReply
    self.isNotifyAnyway = isNotifyAnyway
    self.criteria = criteria
    self.reports = reports
    self.collapse = collapse ?? MessageReference(room: room, seq: message.seq)
    self.count = count
    self.others = others
  }
}
