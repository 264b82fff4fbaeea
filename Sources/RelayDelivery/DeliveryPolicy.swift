// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The timeouts of a push that waits for a receipt, for the recipient, or for the end of a silence.
public struct DeliveryPolicy: Equatable, Sendable {
  /// The time that a session has to acknowledge a message after the relay has written it.
  public var receiptWait: Duration
  /// The time that a person has to return to an idle session that has the message, from the message's time.
  public var idleWait: Duration
  /// The time that a user has to reconnect after an unclean end of the last session that was not in the background.
  public var grace: Duration
  /// The maximum of all waits together, from the message's time or from the end of its hold.
  public var maxWait: Duration
  /// The age from which a message is neither held nor pushed at the level `passive` because of a silence.
  public var maxHold: Duration

  public init(
    receiptWait: Duration = .seconds(5), idleWait: Duration = .seconds(30), grace: Duration = .seconds(10),
    maxWait: Duration = .seconds(45), maxHold: Duration = PlannedPush.maxHold
  ) {
    self.receiptWait = receiptWait
    self.idleWait = idleWait
    self.grace = grace
    self.maxWait = maxWait
    self.maxHold = maxHold
  }

  /// The time at which a message counts as sent when the relay decides its stored push again.
  ///
  /// If a stored time is after `now`, the wall clock was set back. The waits of such a message were over before its
  /// push was stored. The result is therefore old enough that no wait begins again.
  public func time(ofStored time: Timestamp, now: Timestamp) -> Timestamp {
    time > now ? now - maxWait : time
  }
}
