// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The times for which reports about a Focus and its filter are valid.
public struct FocusPolicy: Equatable, Sendable {
  /// The delay before a change from true to false counts. A device reports false for a moment when its user changes
  /// from one Focus to another.
  public var settle: Duration
  /// The time for which a true or an active filter counts, from the report's own time, unless the device renews it.
  public var lifetime: Duration
  /// The time for which a report counts if the device sends no other one.
  public var silence: Duration
  /// The maximum time that a device's clock may be ahead of the relay's. Beyond it, the relay uses its own time for the
  /// report, and a number that is a time is ahead.
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

  /// The time that counts for a report that arrives now: the device's time, or `now` if that is absent or too far in
  /// the future.
  func time(of reported: Timestamp?, now: Timestamp) -> Timestamp {
    guard let reported, reported <= now + clockSkew else { return now }
    return reported
  }

  /// The numbers that are taken for times in milliseconds: from the year 2001 to 2286.
  static let clockNumbers: Range<Int64> = 1_000_000_000_000..<10_000_000_000_000

  /// True if a number of a report is a time too far in the future.
  func isAhead(_ number: Int64, of now: Timestamp) -> Bool {
    Self.clockNumbers.contains(number) && number > (now + clockSkew).rawValue
  }
}
