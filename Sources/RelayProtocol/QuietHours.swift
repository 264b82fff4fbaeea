// SPDX-License-Identifier: Apache-2.0

/// Hours of some days of the week in which a user wants to be left alone, on every device.
public struct QuietHours: Hashable, Sendable {
  public var from: TimeOfDay
  /// Up to, but not at this minute: of the same day where it is after ``from``, else of the next one, so that two equal
  /// times mean the whole day.
  public var to: TimeOfDay
  /// 1 is Monday, 7 is Sunday: the days on which ``from`` is.
  public var days: Set<Int>
  /// An IANA name.
  public var timeZone: String
  /// What becomes of pushes; `deliver` means nothing here.
  public var mode: SilenceMode

  public init(
    from: TimeOfDay, to: TimeOfDay, days: Set<Int> = Set(Self.allDays), timeZone: String, mode: SilenceMode
  ) {
    self.from = from
    self.to = to
    self.days = days
    self.timeZone = timeZone
    self.mode = mode
  }

  public static let allDays = 1...7
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
    timeZone = try object.decode(String.self, forKey: .timeZone)
    mode = try object.decode(SilenceMode.self, forKey: .mode)
  }

  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(from, forKey: .from)
    try object.encode(to, forKey: .to)
    // A set has no order of its own, and equal hours are to be written equally.
    try object.encode(days.sorted(), forKey: .days)
    try object.encode(timeZone, forKey: .timeZone)
    try object.encode(mode, forKey: .mode)
  }
}
