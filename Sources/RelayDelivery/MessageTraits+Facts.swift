// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension MessageTraits {
  /// - Parameters:
  ///   - time: The time at which the relay accepted the message.
  ///   - isNotifyAnyway: The sender requests a notification in spite of the recipient's Focus.
  public func facts(at time: Timestamp, isNotifyAnyway: Bool = false) -> MessageFacts {
    MessageFacts(
      sender: from, time: time, expires: push.expires(from: time), kind: push.kind, level: push.level,
      isUrgentAllowed: push.isUrgentAllowed, criteria: push.criteria, isPushAsked: push.isAsked, isDeleted: isDeleted,
      isNotifyAnyway: isNotifyAnyway, isSilent: push.isSilent ? true : nil)
  }
}
