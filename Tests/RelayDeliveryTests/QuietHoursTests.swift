// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// The times at which quiet hours begin and end, with all changes of local clocks.
@Suite struct QuietHoursTests {
  /// - Parameter span: `22:00-06:30`
  private static func hours(
    _ span: String, days: Set<Int> = [1, 2, 3, 4, 5, 6, 7], in zone: String = "UTC", _ mode: SilenceMode = .hold
  ) throws -> QuietHours {
    let times = span.split(separator: "-")
    return QuietHours(
      from: try #require(TimeOfDay(String(times[0]))), to: try #require(TimeOfDay(String(times[1]))), days: days,
      timeZone: zone, mode: mode)
  }

  private static func time(_ text: String) throws -> Timestamp {
    let date = try Date(text, strategy: .iso8601)
    return Timestamp(rawValue: Int64(date.timeIntervalSince1970) * 1000)
  }

  struct Row: Sendable {
    let span: String
    var days: Set<Int> = [1, 2, 3, 4, 5, 6, 7]
    var zone = "UTC"
    let now: String
    /// Is `nil` when no quiet hours are on.
    let until: String?

    init(
      _ span: String, days: Set<Int> = [1, 2, 3, 4, 5, 6, 7], in zone: String = "UTC", at now: String, until: String?
    ) {
      self.span = span
      self.days = days
      self.zone = zone
      self.now = now
      self.until = until
    }
  }

  @Test(arguments: days + zones + springs + autumns)
  func `quiet hours end at the time of their row`(row: Row) throws {
    let hours = try Self.hours(row.span, days: row.days, in: row.zone)
    let expected = try row.until.map { ActiveQuietHours(mode: .hold, until: try Self.time($0)) }
    // The zones of the tests have the same rules in Swift and in the system's zone files.
    #expect(hours.facts(in: TimeZones()[row.zone], at: try Self.time(row.now)) == expected)
  }

  /// 2026-01-05 is a Monday.
  private static let days = [
    Row("09:00-17:00", at: "2026-01-05T08:59:59Z", until: nil),
    Row("09:00-17:00", at: "2026-01-05T09:00:00Z", until: "2026-01-05T17:00:00Z"),
    Row("09:00-17:00", at: "2026-01-05T16:59:59Z", until: "2026-01-05T17:00:00Z"),
    Row("09:00-17:00", at: "2026-01-05T17:00:00Z", until: nil),
    Row("22:00-06:30", at: "2026-01-05T21:59:59Z", until: nil),
    Row("22:00-06:30", at: "2026-01-05T22:00:00Z", until: "2026-01-06T06:30:00Z"),
    Row("22:00-06:30", at: "2026-01-06T00:00:00Z", until: "2026-01-06T06:30:00Z"),
    Row("22:00-06:30", at: "2026-01-06T06:29:59Z", until: "2026-01-06T06:30:00Z"),
    Row("22:00-06:30", at: "2026-01-06T06:30:00Z", until: nil),
    Row("18:00-00:00", at: "2026-01-05T23:59:59Z", until: "2026-01-06T00:00:00Z"),
    Row("18:00-00:00", at: "2026-01-06T00:00:00Z", until: nil),
    Row("00:00-06:00", at: "2026-01-06T00:00:00Z", until: "2026-01-06T06:00:00Z"),
    // The day is that of `from`.
    Row("22:00-06:30", days: [1], at: "2026-01-05T23:00:00Z", until: "2026-01-06T06:30:00Z"),
    Row("22:00-06:30", days: [1], at: "2026-01-06T05:00:00Z", until: "2026-01-06T06:30:00Z"),
    Row("22:00-06:30", days: [1], at: "2026-01-05T05:00:00Z", until: nil),
    Row("22:00-06:30", days: [1], at: "2026-01-06T23:00:00Z", until: nil),
    Row("22:00-06:30", days: [7], at: "2026-01-05T05:00:00Z", until: "2026-01-05T06:30:00Z"),
    Row("09:00-17:00", days: [6, 7], at: "2026-01-04T12:00:00Z", until: "2026-01-04T17:00:00Z"),
    Row("09:00-17:00", days: [6, 7], at: "2026-01-05T12:00:00Z", until: nil),
    Row("09:00-17:00", days: [], at: "2026-01-05T12:00:00Z", until: nil),
    Row("09:00-17:00", days: [0, 8, -1], at: "2026-01-05T12:00:00Z", until: nil),
    // Two equal times mean a whole day.
    Row("08:00-08:00", days: [1], at: "2026-01-05T07:59:59Z", until: nil),
    Row("08:00-08:00", days: [1], at: "2026-01-05T08:00:00Z", until: "2026-01-06T08:00:00Z"),
    Row("08:00-08:00", days: [1], at: "2026-01-06T07:59:59Z", until: "2026-01-06T08:00:00Z"),
    Row("08:00-08:00", days: [1], at: "2026-01-06T08:00:00Z", until: nil),
    Row("08:00-08:00", at: "2026-01-06T08:00:00Z", until: "2026-01-07T08:00:00Z"),
    // 1970-01-01 was a Thursday.
    Row("22:00-06:00", days: [3], at: "1969-12-31T23:00:00Z", until: "1970-01-01T06:00:00Z"),
    Row("22:00-06:00", days: [1], at: "1969-12-29T23:00:00Z", until: "1969-12-30T06:00:00Z"),
  ]

  private static let zones = [
    Row("22:00-06:00", in: "Europe/Zurich", at: "2026-01-05T21:00:00Z", until: "2026-01-06T05:00:00Z"),
    Row("22:00-06:00", in: "Europe/Zurich", at: "2026-07-06T20:00:00Z", until: "2026-07-07T04:00:00Z"),
    Row("22:00-06:00", in: "Europe/Zurich", at: "2026-07-06T19:59:59Z", until: nil),
    Row("22:00-06:00", days: [1], in: "Asia/Kolkata", at: "2026-01-05T16:30:00Z", until: "2026-01-06T00:30:00Z"),
    Row("09:00-17:00", days: [2], in: "Pacific/Kiritimati", at: "2026-01-05T20:00:00Z", until: "2026-01-06T03:00:00Z"),
    Row("22:00-23:00", days: [7], in: "Pacific/Pago_Pago", at: "2026-01-05T09:30:00Z", until: "2026-01-05T10:00:00Z"),
    // An unknown zone counts as UTC.
    Row("09:00-17:00", in: "Mars/Olympus", at: "2026-01-05T12:00:00Z", until: "2026-01-05T17:00:00Z"),
  ]

  /// In Zurich the clock skips 02:00 to 03:00 on 2026-03-29, at 01:00 UTC.
  private static let springs = [
    Row("22:00-06:00", in: "Europe/Zurich", at: "2026-03-28T21:00:00Z", until: "2026-03-29T04:00:00Z"),
    Row("01:00-02:30", in: "Europe/Zurich", at: "2026-03-29T00:59:59Z", until: "2026-03-29T01:00:00Z"),
    Row("01:00-02:30", in: "Europe/Zurich", at: "2026-03-29T01:00:00Z", until: nil),
    Row("02:30-05:00", in: "Europe/Zurich", at: "2026-03-29T00:59:59Z", until: nil),
    Row("02:30-05:00", in: "Europe/Zurich", at: "2026-03-29T01:00:00Z", until: "2026-03-29T03:00:00Z"),
    Row("02:10-02:50", in: "Europe/Zurich", at: "2026-03-29T01:00:00Z", until: nil),
    Row("03:00-04:00", in: "Europe/Zurich", at: "2026-03-29T01:00:00Z", until: "2026-03-29T02:00:00Z"),
    Row("12:00-12:00", in: "Europe/Zurich", at: "2026-03-28T11:00:00Z", until: "2026-03-29T10:00:00Z"),
    // A change by half an hour, at 02:00.
    Row("02:15-03:00", in: "Australia/Lord_Howe", at: "2026-10-03T15:30:00Z", until: "2026-10-03T16:00:00Z"),
    Row("02:15-03:00", in: "Australia/Lord_Howe", at: "2026-10-03T15:29:59Z", until: nil),
    // A change at midnight: the day begins at 01:00.
    Row("00:00-06:00", days: [7], in: "America/Havana", at: "2026-03-08T05:00:00Z", until: "2026-03-08T10:00:00Z"),
    Row("00:00-06:00", days: [7], in: "America/Havana", at: "2026-03-08T04:59:59Z", until: nil),
    // Friday 2011-12-30 did not exist in Apia.
    Row("20:00-23:00", days: [4], in: "Pacific/Apia", at: "2011-12-30T08:00:00Z", until: "2011-12-30T09:00:00Z"),
    Row("20:00-04:00", days: [4], in: "Pacific/Apia", at: "2011-12-30T09:59:59Z", until: "2011-12-30T10:00:00Z"),
    Row("08:00-09:00", days: [6], in: "Pacific/Apia", at: "2011-12-30T18:30:00Z", until: "2011-12-30T19:00:00Z"),
  ]

  /// In Zurich 02:00 to 03:00 occurs twice on 2026-10-25, first at 00:00 UTC. The first time counts.
  private static let autumns = [
    Row("22:00-06:00", in: "Europe/Zurich", at: "2026-10-24T20:00:00Z", until: "2026-10-25T05:00:00Z"),
    Row("01:00-02:30", in: "Europe/Zurich", at: "2026-10-25T00:29:59Z", until: "2026-10-25T00:30:00Z"),
    Row("01:00-02:30", in: "Europe/Zurich", at: "2026-10-25T01:15:00Z", until: nil),
    Row("02:30-05:00", in: "Europe/Zurich", at: "2026-10-25T00:29:59Z", until: nil),
    Row("02:30-05:00", in: "Europe/Zurich", at: "2026-10-25T00:30:00Z", until: "2026-10-25T04:00:00Z"),
    Row("02:30-05:00", in: "Europe/Zurich", at: "2026-10-25T01:00:00Z", until: "2026-10-25T04:00:00Z"),
    Row("03:00-05:00", in: "Europe/Zurich", at: "2026-10-25T01:59:59Z", until: nil),
    Row("03:00-05:00", in: "Europe/Zurich", at: "2026-10-25T02:00:00Z", until: "2026-10-25T04:00:00Z"),
    Row("12:00-12:00", in: "Europe/Zurich", at: "2026-10-24T10:00:00Z", until: "2026-10-25T11:00:00Z"),
    // A change at midnight: 23:00 occurs again.
    Row("23:30-06:00", days: [7], in: "America/Sao_Paulo", at: "2019-02-17T01:30:00Z", until: nil),
    Row("23:30-06:00", days: [6], in: "America/Sao_Paulo", at: "2019-02-17T01:30:00Z", until: "2019-02-17T09:00:00Z"),
    Row("00:00-06:00", days: [7], in: "America/Sao_Paulo", at: "2019-02-17T02:00:00Z", until: nil),
    Row("00:00-06:00", days: [7], in: "America/Sao_Paulo", at: "2019-02-17T03:00:00Z", until: "2019-02-17T09:00:00Z"),
    // A change at 00:01: after a minute of Sunday it is Saturday again.
    Row("00:00-06:00", days: [7], in: "America/St_Johns", at: "2010-11-07T02:29:59Z", until: nil),
    Row("00:00-06:00", days: [7], in: "America/St_Johns", at: "2010-11-07T02:45:00Z", until: "2010-11-07T09:30:00Z"),
  ]

  @Test func `quiet hours begin and end at an exact millisecond`() throws {
    let hours = try Self.hours("09:00-17:00")
    let begin = try Self.time("2026-01-05T09:00:00Z")
    #expect(hours.facts(in: .utc, at: begin - .milliseconds(1)) == nil)
    #expect(hours.facts(in: .utc, at: begin + .milliseconds(1)) != nil)
    let end = try Self.time("2026-01-05T17:00:00Z")
    #expect(hours.facts(in: .utc, at: end - .milliseconds(1))?.until == end)
  }

  @Test func `times before 1970 are exact to the millisecond`() throws {
    let hours = try Self.hours("09:00-17:00")
    let begin = try Self.time("1969-12-31T09:00:00Z")
    #expect(hours.facts(in: .utc, at: begin - .milliseconds(1)) == nil)
    #expect(hours.facts(in: .utc, at: begin + .milliseconds(1)) != nil)
    let end = try Self.time("1969-12-31T17:00:00Z")
    #expect(hours.facts(in: .utc, at: end - .milliseconds(1))?.until == end)
  }

  @Test(arguments: SilenceMode.allCases)
  func `the result has the mode of the quiet hours`(mode: SilenceMode) throws {
    let hours = try Self.hours("00:00-00:00", mode)
    #expect(hours.facts(in: .utc, at: Timestamp(rawValue: 0))?.mode == mode)
  }

  /// Compares the result with Foundation's calendar, on days without a change of the clock.
  @Test(arguments: [
    "UTC", "Europe/Zurich", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia",
    "Africa/Casablanca", "America/St_Johns",
  ])
  func `quiet hours agree with a calendar`(name: String) throws {
    let zone = try #require(TimeZone(identifier: name))
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    var dice = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      let now = Timestamp(rawValue: Int64.random(in: -40 * 365 * day...80 * 365 * day, using: &dice))
      let date = Date(timeIntervalSince1970: Double(now.rawValue) / 1000)
      let offset = zone.secondsFromGMT(for: date)
      let around = [-3.0, -2, -1, 1, 2, 3].map { zone.secondsFromGMT(for: date + $0 * 86_400) }
      guard around.allSatisfy({ $0 == offset }) else { continue }
      let hours = QuietHours(
        from: try #require(TimeOfDay(minutes: Int.random(in: 0..<1_440, using: &dice))),
        to: try #require(TimeOfDay(minutes: Int.random(in: 0..<1_440, using: &dice))),
        days: Set((1...7).filter { _ in !dice.hits(oneIn: 3) }), timeZone: name, mode: .hold)
      let shown = calendar.dateComponents([.weekday, .hour, .minute], from: date)
      let today = try (#require(shown.weekday) + 5) % 7 + 1
      let minute = try #require(shown.hour) * 60 + #require(shown.minute)
      let (from, to) = (hours.from.minutes, hours.to.minutes)
      let isOvernight = to <= from
      let isOn =
        hours.days.contains(today) && from <= minute && (isOvernight || minute < to)
        || isOvernight && hours.days.contains((today + 5) % 7 + 1) && minute < to
      let facts = hours.facts(in: .swift(zone), at: now)
      #expect((facts != nil) == isOn, "\(hours) at \(date)")
      guard let end = facts?.until else { continue }
      #expect(now < end && end <= now + .seconds(86_400))
      #expect(hours.facts(in: .swift(zone), at: end - .milliseconds(1))?.until == end)
      let ending = calendar.dateComponents(
        [.hour, .minute, .second], from: Date(timeIntervalSince1970: Double(end.rawValue) / 1000))
      #expect([ending.hour, ending.minute, ending.second] == [to / 60, to % 60, 0])
    }
  }

  @Test(arguments: ["Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Asia/Tehran"])
  func `a time that the clock skips counts as the time of the change`(name: String) throws {
    let zone = try #require(TimeZone(identifier: name))
    var jump = Date(timeIntervalSince1970: 0)
    var count = 0
    while let next = zone.nextDaylightSavingTimeTransition(after: jump), next < Date(timeIntervalSince1970: 2e9) {
      jump = next
      let (before, after) = (zone.secondsFromGMT(for: jump - 1), zone.secondsFromGMT(for: jump))
      guard before < after else { continue }
      count += 1
      let second = Int64(jump.timeIntervalSince1970)
      let now = Timestamp(rawValue: second * 1000)
      for minutes in stride(from: 1, to: (after - before) / 60, by: 7) {
        let skipped = (Int(second) + before) / 60 + minutes
        let hours = QuietHours(
          from: try #require(TimeOfDay(minutes: skipped % 1_440)),
          to: try #require(TimeOfDay(minutes: skipped % 1_440)),
          timeZone: name, mode: .hold)
        // The quiet hours are the whole day: the hours of one day end where those of the next begin.
        #expect(hours.facts(in: .swift(zone), at: now - .milliseconds(1))?.until == now)
        #expect(try #require(hours.facts(in: .swift(zone), at: now)).until > now)
      }
    }
    #expect(count > 20)
  }
}
