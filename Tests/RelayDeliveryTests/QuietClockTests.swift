// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The cache of quiet hours that are on.
@Suite struct QuietClockTests {
  private static let zones = [
    "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "UTC", "no zone",
  ]

  private func hours(_ zone: String, _ from: Int = 22 * 60, _ to: Int = 7 * 60) throws -> QuietHours {
    QuietHours(
      from: try #require(TimeOfDay(minutes: from)), to: try #require(TimeOfDay(minutes: to)), timeZone: zone,
      mode: .hold)
  }

  @Test(arguments: zones)
  func `the clock agrees with the quiet hours at every time`(zone: String) throws {
    var clock = QuietClock()
    let hours = try hours(zone)
    // 2026-03-28 12:00 UTC, then 40 hours: the clocks of Europe are put forward in between.
    let start: Int64 = 1_774_699_200_000
    for step in 0..<6_000 {
      let now = Timestamp(rawValue: start + Int64(step) * 24_001)
      #expect(clock.facts(of: hours, at: now) == hours.facts(at: now))
    }
    // Times that go back, and times before 1970.
    for time in [start, start - 1, -1, -60_000, -60_001, 0] {
      #expect(clock.facts(of: hours, at: Timestamp(rawValue: time)) == hours.facts(at: Timestamp(rawValue: time)))
    }
  }

  @Test func `hours are computed once a minute for all users`() throws {
    var clock = QuietClock()
    let (berlin, apia) = (try hours("Europe/Berlin"), try hours("Pacific/Apia"))
    for millisecond in stride(from: 0, to: 60_000, by: 10) {
      _ = clock.facts(of: berlin, at: Timestamp(rawValue: Int64(millisecond)))
      _ = clock.facts(of: apia, at: Timestamp(rawValue: Int64(millisecond)))
    }
    #expect(clock.computations == 2)
    _ = clock.facts(of: berlin, at: Timestamp(rawValue: 60_000))
    #expect(clock.computations == 3)
  }

  @Test func `quiet hours beyond the capacity of the clock are correct`() throws {
    var clock = QuietClock()
    let now = Timestamp(rawValue: 1_774_699_200_000)
    for number in 0..<QuietClock.maxKept + 50 {
      let hours = try hours("UTC", number % 1_440, number / 1_440)
      #expect(clock.facts(of: hours, at: now) == hours.facts(at: now))
    }
    let before = clock.computations
    _ = clock.facts(of: try hours("UTC", 0, 0), at: now)
    #expect(clock.computations == before)
  }
}
