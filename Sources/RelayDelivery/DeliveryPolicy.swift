// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// How long a push waits for a sign that it is not needed, or for the end of a silence.
public struct DeliveryPolicy: Equatable, Sendable {
  /// For a session to say that it has a message that was written to it.
  public var receiptWait: Duration
  /// For a person to come back to an idle session that has the message, from the message's time.
  public var idleWait: Duration
  /// For a user to come back whose last session that was not in the background did not end cleanly.
  public var grace: Duration
  /// All waits together, from the message's time, or from the end of its hold.
  public var longestWait: Duration
  /// The age from which a message is neither held nor softened.
  public var longestHold: Duration

  public init(
    receiptWait: Duration = .seconds(5), idleWait: Duration = .seconds(30), grace: Duration = .seconds(10),
    longestWait: Duration = .seconds(45), longestHold: Duration = .seconds(12 * 3600)
  ) {
    self.receiptWait = receiptWait
    self.idleWait = idleWait
    self.grace = grace
    self.longestWait = longestWait
    self.longestHold = longestHold
  }

  /// The time at which a message counts as sent when its stored push is decided again.
  ///
  /// A stored time after `now` is of before the wall clock was set back. The waits of such a message were over before its
  /// push was stored, so it counts as old enough that none of them begins again.
  public func time(ofStored time: Timestamp, now: Timestamp) -> Timestamp {
    time > now ? now - longestWait : time
  }
}
