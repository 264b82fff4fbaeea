// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// The cache of quiet hours that are on.
@Suite struct QuietClockTests {
  private static let zones = [
    "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "UTC", "no zone",
  ]

  private func hours(_ from: Int = 22 * 60, _ to: Int = 7 * 60, in zone: String? = nil) throws -> QuietHours {
    QuietHours(
      from: try #require(TimeOfDay(minutes: from)), to: try #require(TimeOfDay(minutes: to)), timeZone: zone,
      mode: .hold)
  }

  @Test(arguments: zones)
  func `the clock agrees with the quiet hours at every time`(zone: String) throws {
    var clock = QuietClock()
    let (hours, rules) = (try hours(), TimeZones()[zone])
    // 2026-03-28 12:00 UTC, then 40 hours: the clocks of Europe are put forward in between.
    let start: Int64 = 1_774_699_200_000
    for step in 0..<6_000 {
      let now = Timestamp(rawValue: start + Int64(step) * 24_001)
      #expect(clock.facts(of: hours, in: zone, at: now) == hours.facts(in: rules, at: now))
    }
    // Times that go back, and times before 1970.
    for time in [start, start - 1, -1, -60_000, -60_001, 0] {
      let now = Timestamp(rawValue: time)
      #expect(clock.facts(of: hours, in: zone, at: now) == hours.facts(in: rules, at: now))
    }
  }

  @Test func `hours are computed once a minute for all users`() throws {
    var clock = QuietClock()
    let hours = try hours()
    for millisecond in stride(from: 0, to: 60_000, by: 10) {
      _ = clock.facts(of: hours, in: "Europe/Berlin", at: Timestamp(rawValue: Int64(millisecond)))
      _ = clock.facts(of: hours, in: "Pacific/Apia", at: Timestamp(rawValue: Int64(millisecond)))
    }
    #expect(clock.computations == 2)
    _ = clock.facts(of: hours, in: "Europe/Berlin", at: Timestamp(rawValue: 60_000))
    #expect(clock.computations == 3)
  }

  @Test func `quiet hours beyond the capacity of the clock are correct`() throws {
    var clock = QuietClock()
    let now = Timestamp(rawValue: 1_774_699_200_000)
    for number in 0..<QuietClock.maxKept + 50 {
      let hours = try hours(number % 1_440, number / 1_440)
      #expect(clock.facts(of: hours, in: "UTC", at: now) == hours.facts(in: .utc, at: now))
    }
    let before = clock.computations
    _ = clock.facts(of: try hours(0, 0), in: "UTC", at: now)
    #expect(clock.computations == before)
    _ = clock.facts(of: try hours(QuietClock.maxKept % 1_440, QuietClock.maxKept / 1_440), in: "UTC", at: now)
    #expect(clock.computations == before + 1)
  }

  // MARK: The zones of devices

  /// A device with a time zone, and the second of its registration.
  struct Registered: Sendable {
    let name: String
    let zone: String?
    let registered: Int64?

    init(_ name: String, _ zone: String?, at registered: Int64?) {
      (self.name, self.zone, self.registered) = (name, zone, registered)
    }

    var device: Device {
      var device = Device(id: DeviceID(unchecked: name), platform: .simulator, token: name, timeZone: zone)
      device.registered = registered.map { Timestamp(rawValue: $0 * 1000) }
      return device
    }
  }

  struct Row: Sendable {
    /// The zone of the quiet hours.
    let zone: String?
    let devices: [Registered]
    /// The zone that counts on each device, in the order of `devices`.
    let expected: [String]
  }

  private static let rows = [
    Row(zone: nil, devices: [.init("phone", nil, at: 1)], expected: ["UTC"]),
    Row(zone: nil, devices: [.init("phone", "Asia/Tokyo", at: 1)], expected: ["Asia/Tokyo"]),
    // Each device follows its own zone.
    Row(
      zone: nil, devices: [.init("a", "Asia/Tokyo", at: 1), .init("b", "America/New_York", at: 2)],
      expected: ["Asia/Tokyo", "America/New_York"]),
    // A device without a zone follows the device that registered last with one.
    Row(
      zone: nil, devices: [.init("a", nil, at: 9), .init("b", "Asia/Tokyo", at: 2), .init("c", "Asia/Dubai", at: 1)],
      expected: ["Asia/Tokyo", "Asia/Tokyo", "Asia/Dubai"]),
    Row(
      zone: nil, devices: [.init("a", nil, at: 9), .init("b", "Asia/Tokyo", at: 1), .init("c", "Asia/Dubai", at: 2)],
      expected: ["Asia/Dubai", "Asia/Tokyo", "Asia/Dubai"]),
    Row(
      zone: nil, devices: [.init("a", "Asia/Tokyo", at: nil), .init("b", nil, at: 1), .init("c", "Asia/Dubai", at: 1)],
      expected: ["Asia/Tokyo", "Asia/Dubai", "Asia/Dubai"]),
    // At the same time, the id decides.
    Row(
      zone: nil, devices: [.init("a", nil, at: 1), .init("b", "Asia/Tokyo", at: 1), .init("c", "Asia/Dubai", at: 1)],
      expected: ["Asia/Dubai", "Asia/Tokyo", "Asia/Dubai"]),
    // An unknown zone counts as none.
    Row(
      zone: nil,
      devices: [.init("a", "+00:00", at: 3), .init("b", "Asia/Tokyo", at: 1), .init("c", "Etc/Unknown", at: 2)],
      expected: ["Asia/Tokyo", "Asia/Tokyo", "Asia/Tokyo"]),
    Row(zone: nil, devices: [.init("a", "Etc/Unknown", at: 3)], expected: ["UTC"]),
    // An explicit zone always counts.
    Row(
      zone: "Europe/Berlin", devices: [.init("a", "Asia/Tokyo", at: 1), .init("b", nil, at: 2)],
      expected: ["Europe/Berlin", "Europe/Berlin"]),
    Row(zone: "Etc/GMT-3", devices: [.init("a", "Etc/Unknown", at: 1)], expected: ["Etc/GMT-3"]),
  ]

  @Test(arguments: rows.indices)
  func `each device has the quiet hours of its zone`(index: Int) throws {
    let row = Self.rows[index]
    var clock = QuietClock()
    var recipient = Recipient()
    recipient.devices = row.devices.map(\.device)
    recipient.preferences.quietHours = try hours(in: row.zone)
    for hour in 0..<48 {
      let now = Timestamp(rawValue: 1_795_000_000_000 + Int64(hour) * 1_800_000)
      let current = clock.hours(of: recipient, at: now)
      for (device, zone) in zip(recipient.devices, row.expected) {
        let expected = try hours().facts(in: clock.zones[zone], at: now)
        #expect(current[device] == expected, "\(device.id) after \(hour) half hours")
        let facts = recipient.facts(of: device, in: AppEntitlements(), quietHours: current)
        #expect(facts.quiet == expected)
      }
    }
  }

  @Test func `a user without quiet hours has none`() {
    var clock = QuietClock()
    var recipient = Recipient()
    recipient.devices = [Registered("phone", "Asia/Tokyo", at: 1).device]
    #expect(clock.hours(of: recipient, at: Timestamp(rawValue: 0)) == .none)
    #expect(clock.computations == 0)
  }

  @Test func `a device that the memory does not have yet follows the zone of the user`() throws {
    var clock = QuietClock()
    var recipient = Recipient()
    recipient.preferences.quietHours = try hours(0, 0)
    recipient.devices = [Registered("phone", "Asia/Tokyo", at: 1).device]
    let current = clock.hours(of: recipient, at: Timestamp(rawValue: 0))
    #expect(current[Registered("new", "Asia/Dubai", at: 2).device] == current[recipient.devices[0]])
  }
}
