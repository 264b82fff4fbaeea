// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// One message, one recipient and one of the recipient's devices: all that a decision looks at.
///
/// Facts are coded as JSON objects, so that a decision can be explained when they have changed.
public struct DeliveryCase: Equatable, Sendable, Codable {
  public var message: MessageFacts
  public var recipient: RecipientFacts
  /// nil: the recipient has registered none.
  public var device: DeviceFacts?
  public var now: Timestamp
  /// When the silence was over that has held the push. Is `nil` when the push was not held, or is silenced still.
  public var released: Timestamp?

  public init(
    message: MessageFacts, recipient: RecipientFacts, device: DeviceFacts?, now: Timestamp, released: Timestamp? = nil
  ) {
    self.message = message
    self.recipient = recipient
    self.device = device
    self.now = now
    self.released = released
  }
}

extension DeliveryCase {
  /// What its sender, the device and its app allow of the level that was asked for.
  public var allowedLevel: Level { Question(facts: self, policy: DeliveryPolicy()).level }
}

/// The message that a decision is about.
public struct MessageFacts: Equatable, Sendable, Codable {
  public var sender: UserID
  /// When it was accepted.
  public var time: Timestamp
  /// The first moment at which nobody is to be pushed to any more.
  public var expires: Timestamp
  public var kind: MessageKind
  /// What the sender asked for.
  public var level: Level
  /// Whether the sender has the right `urgent`, without which no level is above active.
  public var isUrgentAllowed: Bool
  /// The sender's guess.
  public var criteria: String?
  /// Whether the message and its room both want pushes.
  public var isPushAsked: Bool
  public var isDeleted: Bool
  /// The sender was told of the recipient's Focus, and asked to be heard all the same.
  public var isNotifyAnyway: Bool
  /// true: its push shows nothing, so that it disturbs nobody. Absent in what was stored before there were any.
  public var isSilent: Bool?

  public init(
    sender: UserID, time: Timestamp, expires: Timestamp, kind: MessageKind = .message, level: Level = .active,
    isUrgentAllowed: Bool = true, criteria: String? = nil, isPushAsked: Bool = true, isDeleted: Bool = false,
    isNotifyAnyway: Bool = false, isSilent: Bool = false
  ) {
    self.sender = sender
    self.time = time
    self.expires = expires
    self.kind = kind
    self.level = level
    self.isUrgentAllowed = isUrgentAllowed
    self.criteria = criteria
    self.isPushAsked = isPushAsked
    self.isDeleted = isDeleted
    self.isNotifyAnyway = isNotifyAnyway
    self.isSilent = isSilent ? true : nil
  }
}
