// SPDX-License-Identifier: Apache-2.0

/// The rule of a time zone for all years, in the form of the environment variable `TZ` (POSIX, RFC 8536 section 3.3).
///
/// Pure; ``ZoneFile`` uses it for the time after the last entry of a file.
struct PosixZone: Equatable, Sendable {
  /// In seconds east of UTC.
  private let standard: Int64
  /// Is `nil` if the zone has no daylight saving time.
  private let daylight: Daylight?

  private struct Daylight: Equatable {
    let offset: Int64
    let begin: Moment
    let end: Moment
  }

  /// A local time in each year.
  private struct Moment: Equatable {
    let date: YearlyDate
    /// In seconds after the midnight at which the date begins, between -167 and 167 hours.
    let time: Int64
  }

  /// - Parameter allowsLongTimes: True for files of version 3 and later: the time of a change is between -167 and 167
  ///   hours. False for version 2: the time is between 0 and 24 hours.
  init?(_ text: ArraySlice<UInt8>, allowsLongTimes: Bool) {
    guard text.count <= Self.maxLength else { return nil }
    var text = Scanner(rest: text)
    guard text.name(), let offset = text.offset() else { return nil }
    standard = -offset
    guard !text.isAtEnd else {
      daylight = nil
      return
    }
    guard text.name() else { return nil }
    // Without an offset, daylight saving time is one hour ahead.
    var ahead = standard + 3600
    if text.next != UInt8(ascii: ",") {
      guard let offset = text.offset() else { return nil }
      ahead = -offset
    }
    func moment() -> Moment? {
      guard text.skip(","), let date = YearlyDate(&text) else { return nil }
      guard text.skip("/") else { return Moment(date: date, time: 2 * 3600) }
      return text.time(allowsLong: allowsLongTimes).map { Moment(date: date, time: $0) }
    }
    guard let begin = moment(), let end = moment(), text.isAtEnd, abs(ahead) < 86_400 else { return nil }
    daylight = Daylight(offset: ahead, begin: begin, end: end)
  }

  private static let maxLength = 255

  /// The offset in seconds east of UTC.
  func offset(at second: Int64) -> Int64 {
    guard let daylight else { return standard }
    let year = Self.year(at: second + standard)
    // A change may be in the year before or after that of its date.
    var newest = (time: Int64.min, offset: standard)
    for year in year - 1...year + 1 {
      // Daylight saving time never ends if it ends in one year at the moment at which it begins in the next one. The
      // comparison `<=` then prefers the beginning.
      let end = Self.second(of: daylight.end, in: year) - daylight.offset
      if newest.time < end, end <= second { newest = (end, standard) }
      let begin = Self.second(of: daylight.begin, in: year) - standard
      if newest.time <= begin, begin <= second { newest = (begin, daylight.offset) }
    }
    return newest.offset
  }

  private static func second(of moment: Moment, in year: Int64) -> Int64 {
    moment.date.day(in: year) * 86_400 + moment.time
  }

  private static func year(at second: Int64) -> Int64 {
    // The days of 400 years are always the same number, so that the estimate is at most one year off.
    let day = floored(second, by: 86_400).quotient
    var year = 1970 + floored(day * 400, by: daysOfCycle).quotient
    while YearlyDate.firstDay(of: year) > day { year -= 1 }
    while YearlyDate.firstDay(of: year + 1) <= day { year += 1 }
    return year
  }

  private static let daysOfCycle: Int64 = 146_097
}

/// A date in each year, in one of the three forms of POSIX.
private enum YearlyDate: Equatable {
  /// `Jn`: a day from 1 to 365. February 29 is never counted.
  case withoutLeapDay(Int64)
  /// `n`: a day from 0 to 365. February 29 is counted.
  case withLeapDay(Int64)
  /// `Mm.w.d`: a weekday from 0 (Sunday) to 6 in a week of a month. Week 5 is the last one with this weekday.
  case weekday(month: Int64, week: Int64, day: Int64)

  init?(_ text: inout Scanner) {
    if text.skip("M") {
      guard let month = text.number(1...12), text.skip("."), let week = text.number(1...5), text.skip("."),
        let day = text.number(0...6)
      else { return nil }
      self = .weekday(month: month, week: week, day: day)
    } else if text.skip("J") {
      guard let day = text.number(1...365) else { return nil }
      self = .withoutLeapDay(day)
    } else {
      guard let day = text.number(0...365) else { return nil }
      self = .withLeapDay(day)
    }
  }

  /// The day, counted from 1970-01-01.
  func day(in year: Int64) -> Int64 {
    let first = Self.firstDay(of: year)
    switch self {
    case .withoutLeapDay(let day): return first + day - 1 + (Self.isLeap(year) && day > 59 ? 1 : 0)
    case .withLeapDay(let day): return first + day
    case .weekday(let month, let week, let weekday):
      let begin = first + Self.begin(ofMonth: month, in: year)
      // Day 0 was a Thursday.
      let shift = floored(weekday - (begin + 4), by: 7).remainder
      let day = begin + shift + (week - 1) * 7
      return day < first + Self.begin(ofMonth: month + 1, in: year) ? day : day - 7
    }
  }

  static func firstDay(of year: Int64) -> Int64 {
    let before = year - 1
    let leapDays =
      floored(before, by: 4).quotient - floored(before, by: 100).quotient + floored(before, by: 400).quotient
    return 365 * (year - 1970) + leapDays - leapDaysBefore1970
  }

  private static let leapDaysBefore1970: Int64 = 477

  private static func isLeap(_ year: Int64) -> Bool {
    year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
  }

  /// The number of days in a year before a month. Month 13 is the end of the year.
  private static func begin(ofMonth month: Int64, in year: Int64) -> Int64 {
    beginsOfMonths[Int(month) - 1] + (isLeap(year) && month > 2 ? 1 : 0)
  }

  private static let beginsOfMonths: [Int64] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]
}

/// Reads the parts of a TZ string.
private struct Scanner {
  var rest: ArraySlice<UInt8>

  var next: UInt8? { rest.first }
  var isAtEnd: Bool { rest.isEmpty }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  /// Skips the name of a local time: at least 3 letters, or letters, digits and signs in `<…>`.
  mutating func name() -> Bool {
    let isQuoted = skip("<")
    let name = rest.prefix { character in
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"): isQuoted
      default: false
      }
    }
    rest.removeFirst(name.count)
    return name.count >= 3 && (!isQuoted || skip(">"))
  }

  /// An offset west of UTC: `[+-]hh[:mm[:ss]]`. POSIX allows 24 as the hour. This parser rejects offsets of 24 hours or
  /// more.
  mutating func offset() -> Int64? { signed(0...24).flatMap { abs($0) < 86_400 ? $0 : nil } }

  /// The time of a change. Without `allowsLong`, it has no sign.
  mutating func time(allowsLong: Bool) -> Int64? {
    if !allowsLong, next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { return nil }
    return signed(0...(allowsLong ? 167 : 24))
  }

  private mutating func signed(_ hours: ClosedRange<Int64>) -> Int64? {
    let sign: Int64 = skip("-") ? -1 : 1
    if sign == 1 { _ = skip("+") }
    guard var seconds = number(hours).map({ $0 * 3600 }) else { return nil }
    for unit: Int64 in [60, 1] where next == UInt8(ascii: ":") {
      guard skip(":"), let part = number(0...59) else { return nil }
      seconds += part * unit
    }
    return sign * seconds
  }

  /// A decimal number of at most 3 digits.
  mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard (1...3).contains(digits.count) else { return nil }
    rest.removeFirst(digits.count)
    let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    return range.contains(number) ? number : nil
  }
}
