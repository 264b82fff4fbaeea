// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension QuietHours {
  /// The quiet hours that are on at `now` in a time zone. Is `nil` when none are on.
  public func facts(in zone: ZoneRules, at now: Timestamp) -> ActiveQuietHours? {
    let clock = WallClock(zone: zone)
    let second = floored(now.rawValue, by: 1000).quotient
    let today = clock.day(at: second)
    // The quiet hours of different days never overlap.
    for day in today - 1...today + 1 where days.contains(WallClock.weekday(of: day)) {
      let end = clock.second(of: to, on: to > from ? day : day + 1)
      if clock.second(of: from, on: day) <= second, second < end {
        return ActiveQuietHours(mode: mode, until: Timestamp(rawValue: end * 1000))
      }
    }
    return nil
  }
}

/// The local time of one zone. Days are counted from the local 1970-01-01, and seconds from 1970 in UTC.
private struct WallClock {
  let zone: ZoneRules

  private static let day: Int64 = 24 * 3600

  /// 1 is Monday; day 0 was a Thursday.
  static func weekday(of day: Int64) -> Int {
    Int(floored(day + 3, by: 7).remainder) + 1
  }

  func day(at second: Int64) -> Int64 {
    floored(second + offset(at: second), by: Self.day).quotient
  }

  /// The second at which the clock first shows `time` on `day`. If the clock skips this time, the second of the change.
  func second(of time: TimeOfDay, on day: Int64) -> Int64 {
    let shown = day * Self.day + Int64(time.minutes) * 60
    // `shown` is the local time read as UTC. An offset is less than a day, so these are the offsets before and after
    // the wanted second. At most one change lies between them.
    let (before, after) = (offset(at: shown - Self.day), offset(at: shown + Self.day))
    guard before != after else { return shown - before }
    let change = firstSecond(after: shown - Self.day, upTo: shown + Self.day) { offset(at: $0) != before }
    return shown - before < change ? shown - before : max(shown - after, change)
  }

  private func offset(at second: Int64) -> Int64 { zone.offset(at: second) }

  /// The first second at which a condition is true, by binary search. The condition must stay true from there, and be
  /// true at `end`.
  private func firstSecond(after begin: Int64, upTo end: Int64, _ holds: (Int64) -> Bool) -> Int64 {
    var (begin, end) = (begin, end)
    while end - begin > 1 {
      let middle = begin + (end - begin) / 2
      if holds(middle) { end = middle } else { begin = middle }
    }
    return end
  }
}
