// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The input of a decision: one message, one recipient and one of the recipient's devices.
///
/// The store keeps the facts as JSON objects, so that a decision can be explained after the facts have changed.
public struct DeliveryCase: Equatable, Sendable, Codable {
  public var message: MessageFacts
  public var recipient: RecipientFacts
  /// Is `nil` when the recipient has registered no device.
  public var device: DeviceFacts?
  public var now: Timestamp
  /// The time at which the silence ended that had held the push. Is `nil` when the push was not held, or is still
  /// silenced.
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
  /// The requested level, or the highest lower one that the sender, the device and its app allow.
  public var allowedLevel: Level { DecisionInput(facts: self, policy: DeliveryPolicy()).level }
}

/// The message that a decision is about.
public struct MessageFacts: Equatable, Sendable, Codable {
  public var sender: UserID
  /// The time at which the relay accepted the message.
  public var time: Timestamp
  /// The first moment at which the message is not pushed any more.
  public var expires: Timestamp
  public var kind = MessageKind.message
  /// The level that the sender requested.
  public var level = Level.active
  /// True if the sender has the right `urgent`. Without it, no level is above `active`.
  public var isUrgentAllowed = true
  /// The label that the sender chose.
  public var criteria: String?
  /// True if the message and its room both request pushes.
  public var isPushAsked = true
  public var isDeleted = false
  /// True if the sender saw the recipient's Focus and requests a notification in spite of it (Notify Anyway).
  public var isNotifyAnyway = false
  /// True if the push shows nothing and only wakes the app. Is absent in facts that an older relay stored.
  public var isSilent: Bool?
}
