// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Finds the quiet hours that are on, and computes them once a minute for all users who have the same hours in the same
/// time zone.
///
/// The result changes at whole minutes only: quiet hours begin and end there, and time zones change there.
public struct QuietClock: Sendable {
  /// The maximum number of distinct quiet hours that are kept in a minute. Others are computed each time.
  public static let maxKept = 16_384
  private static let millisecondsOfMinute: Int64 = 60_000

  private struct Key: Hashable {
    let hours: QuietHours
    let zone: String
  }

  public let zones: TimeZones
  /// The minute of ``kept``, counted from 1970.
  private var minute: Int64?
  private var kept: [Key: ActiveQuietHours?] = [:]
  /// The number of computations, for tests.
  private(set) var computations = 0

  public init(_ zones: TimeZones = TimeZones()) { self.zones = zones }

  /// The quiet hours of a user that are on now, on each device.
  public mutating func hours(of recipient: Recipient, at now: Timestamp) -> CurrentQuietHours {
    guard let hours = recipient.preferences.quietHours else { return .none }
    if let zone = hours.timeZone { return CurrentQuietHours(facts(of: hours, in: zone, at: now)) }
    var byZone: [String: ActiveQuietHours?] = [:]
    for zone in recipient.devices.lazy.compactMap(\.timeZone) where zones.knows(zone) {
      byZone[zone] = .some(facts(of: hours, in: zone, at: now))
    }
    let home = recipient.homeZone(in: zones) ?? "UTC"
    return CurrentQuietHours(facts(of: hours, in: home, at: now), byZone: byZone)
  }

  /// The same as ``RelayProtocol/QuietHours/facts(in:at:)``.
  mutating func facts(of hours: QuietHours, in zone: String, at now: Timestamp) -> ActiveQuietHours? {
    let number = floored(now.rawValue, by: Self.millisecondsOfMinute).quotient
    if number != minute {
      minute = number
      kept.removeAll(keepingCapacity: true)
    }
    let key = Key(hours: hours, zone: zone)
    if let known = kept[key] { return known }
    let facts = hours.facts(in: zones[zone], at: now)
    computations += 1
    if kept.count < Self.maxKept { kept[key] = .some(facts) }
    return facts
  }
}

/// The quiet hours of a user that are on now. Without a time zone of their own, they depend on the zone of each device.
public struct CurrentQuietHours: Equatable, Sendable {
  private let home: ActiveQuietHours?
  private let byZone: [String: ActiveQuietHours?]

  public static let none = CurrentQuietHours(nil)

  /// - Parameters:
  ///   - home: The quiet hours on devices whose zone is not in `byZone`.
  ///   - byZone: The quiet hours on devices with these zones.
  public init(_ home: ActiveQuietHours?, byZone: [String: ActiveQuietHours?] = [:]) {
    self.home = home
    self.byZone = byZone
  }

  public subscript(device: Device) -> ActiveQuietHours? {
    guard let zone = device.timeZone, let own = byZone[zone] else { return home }
    return own
  }
}

/// Division with a remainder that is never negative, for times before 1970.
func floored(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
  let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}
