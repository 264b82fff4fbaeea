// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayDelivery

/// The rules of TZ strings, compared with the calendar of Foundation.
@Suite struct PosixZoneTests {
  private static let calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0)!
    return calendar
  }()

  /// The begin of a day in UTC, in seconds since 1970.
  private static func second(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
    Int64(calendar.date(from: DateComponents(year: year, month: month, day: day))!.timeIntervalSince1970)
  }

  private static func zone(_ text: String) -> PosixZone? { PosixZone(Array(text.utf8)[...], allowsLongTimes: true) }

  /// Daylight saving time begins at this moment.
  private static func expectBegin(_ rule: PosixZone, _ second: Int64, _ what: String) {
    #expect([rule.offset(at: second - 1), rule.offset(at: second)] == [0, 3600], "\(what)")
  }

  private static let years = [
    1899, 1900, 1901, 1969, 1970, 1971, 1972, 1999, 2000, 2001, 2023, 2024, 2025, 2096, 2099, 2100, 2101, 2399, 2400,
    2401,
  ]

  @Test(arguments: 1...12)
  func `a weekday of a month`(month: Int) throws {
    // The end is half a year away.
    let end = (month + 5) % 12 + 1
    for week in 1...5 {
      for weekday in 0...6 {
        let rule = try #require(Self.zone("AAA0BBB,M\(month).\(week).\(weekday)/0,M\(end).2.0/0"))
        for year in Self.years {
          let first = Self.calendar.date(from: DateComponents(year: year, month: month, day: 1))!
          let length = Self.calendar.range(of: .day, in: .month, for: first)!.count
          let firstWeekday = Self.calendar.component(.weekday, from: first) - 1
          var day = 1 + (weekday - firstWeekday + 7) % 7 + 7 * (week - 1)
          if day > length { day -= 7 }
          Self.expectBegin(rule, Self.second(year, month, day), "\(year)-\(month)-\(day)")
        }
      }
    }
  }

  @Test func `a day of the year, with and without the leap day`() throws {
    for number in [1, 31, 32, 58, 59, 60, 61, 90, 91, 181, 182, 243, 244, 334, 335, 364, 365] {
      let end = (number + 180) % 364 + 1
      let counted = try #require(Self.zone("AAA0BBB,\(number - 1)/0,\(end)/0"))
      let uncounted = try #require(Self.zone("AAA0BBB,J\(number)/0,J\(end)/0"))
      for year in Self.years {
        let first = Self.second(year, 1, 1)
        Self.expectBegin(counted, first + Int64(number - 1) * 86_400, "day \(number - 1) of \(year)")
        let isLeap =
          Self.calendar.range(of: .day, in: .year, for: Date(timeIntervalSince1970: Double(first)))!.count == 366
        let day = number - 1 + (isLeap && number > 59 ? 1 : 0)
        Self.expectBegin(uncounted, first + Int64(day) * 86_400, "J\(number) of \(year)")
      }
    }
  }

  @Test func `an end in the year before its date does not end a daylight saving time that begins after it`() throws {
    // The end of 2025 is on 2024-12-27, and the begin on 2024-12-31.
    let rule = try #require(Self.zone("AAA0BBB,J365/0,J1/-99"))
    let begin = Self.second(2024, 12, 31)
    #expect(rule.offset(at: begin - 1) == 0)
    #expect(rule.offset(at: begin) == 3600)
    #expect(rule.offset(at: Self.second(2025, 1, 10)) == 3600)
    #expect(rule.offset(at: Self.second(2025, 12, 26)) == 3600)
    #expect(rule.offset(at: Self.second(2025, 12, 29)) == 0)
  }

  @Test func `a daylight saving time that ends at the moment of the next begin never ends`() throws {
    let rule = try #require(Self.zone("AAA0BBB,J365/0,J1/-23"))
    for (month, day) in [(12, 30), (12, 31), (1, 1), (1, 10), (7, 1)] {
      #expect(rule.offset(at: Self.second(2025, month, day)) == 3600)
    }
  }

  @Test(arguments: [
    ("AAA-22:59:59BBB,M3.2.0,M11.1.0", true), ("AAA-23BBB,M3.2.0,M11.1.0", false),
    ("AAA-23:30BBB,M3.2.0,M11.1.0", false), ("AAA0BBB-23:59:59,M3.2.0,M11.1.0", true),
    ("AAA0BBB-24,M3.2.0,M11.1.0", false),
  ])
  func `an offset is less than a day`(text: String, isAllowed: Bool) {
    #expect((Self.zone(text) != nil) == isAllowed)
  }
}
