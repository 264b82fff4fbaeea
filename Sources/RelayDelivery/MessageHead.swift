// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A stored message without its body, for decisions.
public struct MessageHead: Equatable, Sendable {
  public var seq: Int64
  /// The time at which the relay accepted the message.
  public var time: Timestamp
  public var traits: MessageTraits
  /// True if the sender requests delivery reports.
  public var reports: Bool

  public init(seq: Int64, time: Timestamp, traits: MessageTraits, reports: Bool = false) {
    self.seq = seq
    self.time = time
    self.traits = traits
    self.reports = reports
  }
}
