// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension MessageFacts {
  /// The delay of the `delivery` event `pushed` about a recipient who does not let the sender see whether they are
  /// online.
  ///
  /// The delay is the same whether this recipient is online, within the grace or away, and if the recipient has blocked
  /// the sender. So it reveals nothing. It is at most the maximum of all waits of a push. Is `nil` for a call, which
  /// has no waits: the sender receives its reports without a delay.
  public func hiddenReportDelay(_ policy: DeliveryPolicy = DeliveryPolicy()) -> Duration? {
    kind == .call ? nil : min(max(policy.receiptWait, policy.grace), policy.maxWait)
  }

  /// The time of that report. Is `nil` when no report is due: for a call, for a message that requests no push, and for
  /// a message that is deleted or has expired by then.
  public func hiddenReportTime(_ policy: DeliveryPolicy = DeliveryPolicy()) -> Timestamp? {
    guard let delay = hiddenReportDelay(policy), isPushAsked, !isDeleted, time + delay < expires else { return nil }
    return time + delay
  }
}

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
