// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// For how long what devices say of their Focus and its filter counts.
public struct FocusPolicy: Equatable, Sendable {
  /// How long a change from true to false is waited for: between two Focus modes a device says "none" for a moment.
  public var settle: Duration
  /// For how long a true, or an active filter, counts that is not renewed; from the time that the device told.
  public var lifetime: Duration
  /// The time for which a report counts if the device sends no other one.
  public var silence: Duration
  /// How far ahead of the relay's a device's clock may be before its time is not believed.
  public var clockSkew: Duration

  public init(
    settle: Duration = .seconds(3), lifetime: Duration = FilterRecord.lifetime,
    silence: Duration = FilterRecord.silence, clockSkew: Duration = .seconds(60)
  ) {
    self.settle = settle
    self.lifetime = lifetime
    self.silence = silence
    self.clockSkew = clockSkew
  }

  /// The time of a report that arrives now.
  func time(of told: Timestamp?, now: Timestamp) -> Timestamp {
    guard let told, told <= now + clockSkew else { return now }
    return told
  }
}
