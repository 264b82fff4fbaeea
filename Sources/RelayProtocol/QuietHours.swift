// SPDX-License-Identifier: Apache-2.0

/// The hours in which a user wants no notifications, on every device and on some days of the week.
public struct QuietHours: Hashable, Sendable {
  public var from: TimeOfDay
  /// The end, exclusive. It is on the same day if it is after ``from``, else on the next day. Two equal times mean 24
  /// hours.
  public var to: TimeOfDay
  /// The days of the week on which ``from`` is: 1 is Monday, 7 is Sunday.
  public var days: Set<Int>
  /// The time zone, an IANA name. Is `nil` if each device follows its own.
  public var timeZone: String?
  /// The handling of pushes: `passive` or `hold`. The relay rejects `deliver`.
  public var mode: SilenceMode

  public init(
    from: TimeOfDay, to: TimeOfDay, days: Set<Int> = Set(Self.allDays), timeZone: String?, mode: SilenceMode
  ) {
    self.from = from
    self.to = to
    self.days = days
    self.timeZone = timeZone
    self.mode = mode
  }

  public static let allDays = 1...7
  /// The maximum length of the name of a time zone, in bytes.
  public static let maxTimeZoneLength = 64
}

extension QuietHours: Codable {
  private enum Key: String, CodingKey {
    case from, to, days, timeZone, mode
  }

  public init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    from = try object.decode(TimeOfDay.self, forKey: .from)
    to = try object.decode(TimeOfDay.self, forKey: .to)
    days = try object.decode(Set<Int>.self, forKey: .days)
    timeZone = try object.decodeIfPresent(String.self, forKey: .timeZone)
    mode = try object.decode(SilenceMode.self, forKey: .mode)
  }

  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(from, forKey: .from)
    try object.encode(to, forKey: .to)
    // A set has no defined order. Equal quiet hours must have equal JSON.
    try object.encode(days.sorted(), forKey: .days)
    try object.encodeIfPresent(timeZone, forKey: .timeZone)
    try object.encode(mode, forKey: .mode)
  }
}
