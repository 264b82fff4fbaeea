// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The part of a message that its delivery depends on. It is the same for all recipients.
public struct MessageTraits: Equatable, Sendable {
  public var from: UserID
  public var mentions: [UserID]
  public var push: PushRequest
  public var isDeleted: Bool

  public init(from: UserID, mentions: [UserID] = [], push: PushRequest = PushRequest(), isDeleted: Bool = false) {
    self.from = from
    self.mentions = mentions
    self.push = push
    self.isDeleted = isDeleted
  }

  /// - Parameters:
  ///   - time: The time at which the relay accepted the message.
  ///   - isNotifyAnyway: The sender requests a notification in spite of the recipient's Focus.
  public func facts(at time: Timestamp, isNotifyAnyway: Bool = false) -> MessageFacts {
    MessageFacts(
      sender: from, time: time, expires: push.expires(from: time), kind: push.kind, level: push.level,
      isUrgentAllowed: push.isUrgentAllowed, criteria: push.criteria, isPushAsked: push.isAsked, isDeleted: isDeleted,
      isNotifyAnyway: isNotifyAnyway, isSilent: push.isSilent)
  }

  /// True if the message has a body and nothing else.
  public var isPlain: Bool { mentions.isEmpty && push == PushRequest() && !isDeleted }
}
