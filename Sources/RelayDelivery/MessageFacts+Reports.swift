// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension MessageFacts {
  /// The delay of the `delivery` event `pushed` of a recipient who does not let the sender see whether they are online.
  ///
  /// The delay is the same whether such a recipient is online, within the grace or away, and for one who has blocked the
  /// sender, so that it reveals nothing about them. It is not longer than all waits of a push together. Is `nil` for a call, which waits for nobody: its reports come as they
  /// happen.
  public func hiddenReportDelay(_ policy: DeliveryPolicy = DeliveryPolicy()) -> Duration? {
    kind == .call ? nil : min(max(policy.receiptWait, policy.grace), policy.longestWait)
  }

  /// The time of that report. Is `nil` where none is due: for a call, for a message that asks for no push, and for one that
  /// is deleted or has expired by then.
  public func hiddenReportTime(_ policy: DeliveryPolicy = DeliveryPolicy()) -> Timestamp? {
    guard let delay = hiddenReportDelay(policy), isPushAsked, !isDeleted, time + delay < expires else { return nil }
    return time + delay
  }
}
