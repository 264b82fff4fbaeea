// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Finds the quiet hours that are on, and computes them once a minute for all users who have the same hours.
///
/// The result changes at whole minutes only: quiet hours begin and end there, and time zones change there.
public struct QuietClock: Sendable {
  /// The maximum number of distinct quiet hours that are kept in a minute. Others are computed each time.
  public static let maxKept = 16_384
  private static let minute: Int64 = 60_000

  private var begin: Int64?
  private var kept: [QuietHours: ActiveQuietHours?] = [:]
  /// The number of computations, for tests.
  private(set) var computations = 0

  public init() {}

  /// The same as ``RelayProtocol/QuietHours/facts(at:)``.
  public mutating func facts(of hours: QuietHours, at now: Timestamp) -> ActiveQuietHours? {
    let remainder = now.rawValue % Self.minute
    let begin = now.rawValue - (remainder < 0 ? remainder + Self.minute : remainder)
    if begin != self.begin {
      self.begin = begin
      kept.removeAll(keepingCapacity: true)
    }
    if let known = kept[hours] { return known }
    let facts = hours.facts(at: now)
    computations += 1
    if kept.count < Self.maxKept { kept[hours] = .some(facts) }
    return facts
  }
}
